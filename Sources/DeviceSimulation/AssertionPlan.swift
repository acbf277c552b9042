import AppAttest
import Crypto

/// The plan of an assertion. Unchanged, it yields a genuine assertion; each forgery changes one part of it.
struct AssertionPlan {
    var authenticatorData: AuthenticatorDataPlan
    var clientDataHash: [UInt8]
    var key: P256.Signing.PrivateKey
    /// Applied to the authenticator data before it is signed.
    var changeAuthenticatorData: (inout [UInt8]) -> Void = { _ in }
    /// Applied to the authenticator data after it was signed.
    var changeSignedData: (inout [UInt8]) -> Void = { _ in }
    /// Signs the nonce. The nonce is the message, so it is hashed once more.
    var sign: (_ nonce: [UInt8], P256.Signing.PrivateKey) throws -> P256.Signing.ECDSASignature = { nonce, key in
        try key.signature(for: nonce)
    }
    /// Encodes the signature.
    var encodeSignature: (P256.Signing.ECDSASignature) -> [UInt8] = { Array($0.derRepresentation) }
    /// Applied to the entries of the map.
    var changeEntries: (inout [(CBORItem, CBORItem)]) -> Void = { _ in }
    /// Applied to the finished object.
    var changeObject: (inout [UInt8]) -> Void = { _ in }

    /// An assertion with the device's current counter.
    init(device: SimulatedDevice, clientDataHash: [UInt8]) {
        self.clientDataHash = clientDataHash
        key = device.key
        authenticatorData = AuthenticatorDataPlan(
            rpIDHash: device.app.rpIDHash, counter: device.counter,
            appended: device.options.extensions?.encoded ?? [])
    }

    func encoded() throws -> [UInt8] {
        var data = authenticatorData.bytes
        changeAuthenticatorData(&data)
        let nonce = Array(SHA256.hash(data: data + clientDataHash))
        let signature = try sign(nonce, key)
        changeSignedData(&data)
        var entries: [(CBORItem, CBORItem)] = [
            (.text("signature"), .bytes(encodeSignature(signature))), (.text("authenticatorData"), .bytes(data)),
        ]
        changeEntries(&entries)
        var object = CBORItem.map(entries).encoded
        changeObject(&object)
        return object
    }
}
