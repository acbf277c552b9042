/// A parsed but unverified assertion object: `{"signature": bytes, "authenticatorData": bytes}`.
package struct AssertionObject: Hashable, Sendable {
    /// An ECDSA signature in DER.
    package let signature: [UInt8]
    /// The bytes as received.
    package let authenticatorData: [UInt8]

    /// - Parameter bytes: CBOR, at most ``CBORLimits/maximumAssertionBytes``.
    package init(_ bytes: [UInt8]) throws(AssertionError) {
        let value: CBORValue
        do {
            value = try CBORDecoder.decode(bytes, maximumBytes: CBORLimits.maximumAssertionBytes)
        } catch { throw .malformedObject(error) }
        guard case .map(let object) = value else { throw .notAMap }
        guard object.hasOnly("signature", "authenticatorData") else { throw .unknownField }
        guard let signature = object["signature"]?.bytes else { throw .unreadableField(.signature) }
        guard let authenticatorData = object["authenticatorData"]?.bytes else {
            throw .unreadableField(.authenticatorData)
        }
        self.signature = signature
        self.authenticatorData = authenticatorData
    }
}
