import CBOR

/// A parsed but unverified attestation object.
///
/// ```
/// {"fmt": "apple-appattest",
///  "attStmt": {"x5c": [leaf, intermediate], "receipt": bytes},
///  "authData": bytes}
/// ```
///
/// Nothing that is verified here covers the receipt: some publishers remove it. Some systems (iOS 18.5 to 26) add a
/// top-level `cdHash`, which nothing signs: it is accepted and ignored. Any other field is refused.
package struct AttestationObject: Hashable, Sendable {
    /// Two DER certificates, leaf first.
    package let leaf: [UInt8]
    package let intermediate: [UInt8]
    /// Empty if there is none.
    package let receipt: [UInt8]
    /// The bytes as received: hashes are computed over them, never over a new encoding.
    package let authenticatorData: [UInt8]

    static let format = "apple-appattest"

    /// - Parameter bytes: CBOR, at most ``CBORLimits/maximumAttestationBytes``.
    package init(_ bytes: [UInt8]) throws(AttestationError) {
        let object = try Self.map(bytes)
        guard object.hasOnly("fmt", "attStmt", "authData", "cdHash") else { throw .unknownField }
        guard case .text? = object["fmt"] else { throw .unreadableField(.fmt) }
        guard object["fmt"]?.isText(Self.format) == true else { throw .unknownFormat }
        guard case .map(let statement)? = object["attStmt"] else { throw .unreadableField(.attStmt) }
        guard statement.hasOnly("x5c", "receipt") else { throw .unknownField }
        (leaf, intermediate) = try Self.certificates(in: statement)
        receipt = try Self.receipt(in: statement)
        guard let authenticatorData = object["authData"]?.bytes else { throw .unreadableField(.authData) }
        self.authenticatorData = authenticatorData
    }

    private static func map(_ bytes: [UInt8]) throws(AttestationError) -> CBORMap {
        let value: CBORValue
        do {
            value = try CBORDecoder.decode(bytes, maximumBytes: CBORLimits.maximumAttestationBytes)
        } catch { throw .malformedObject(error) }
        guard case .map(let map) = value else { throw .notAMap }
        return map
    }

    private static func certificates(in statement: CBORMap) throws(AttestationError) -> ([UInt8], [UInt8]) {
        guard case .array(let chain)? = statement["x5c"] else { throw .unreadableField(.x5c) }
        guard chain.count == 2 else { throw .certificateCount(chain.count) }
        guard let leaf = chain[0].bytes, let intermediate = chain[1].bytes else { throw .unreadableField(.x5c) }
        return (leaf, intermediate)
    }

    private static func receipt(in statement: CBORMap) throws(AttestationError) -> [UInt8] {
        guard let receipt = statement["receipt"] else { return [] }
        guard let bytes = receipt.bytes else { throw .unreadableField(.receipt) }
        return bytes
    }
}
