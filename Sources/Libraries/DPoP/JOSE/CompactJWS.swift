import Crypto
import StrictJSON
import WireText

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A JWS in its compact serialization (RFC 7515 section 7.1), taken apart. Nothing is verified yet.
struct CompactJWS {
    static let signatureBytes = 64

    let header: JSONObject
    let payload: [UInt8]
    /// r and s, 32 bytes each.
    let signature: [UInt8]
    /// The bytes that are signed: the encoded header, a dot, the encoded payload.
    let signingInput: ArraySlice<UInt8>

    init(_ text: String) throws(JOSEError) {
        guard text.utf8.count <= JOSELimits.maximumBytes else { throw .tooLong }
        let bytes = Array(text.utf8)
        let parts = bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3 else { throw .partCount }
        let header = try Self.decode(parts[0], .header)
        payload = try Self.decode(parts[1], .payload)
        signature = try Self.decode(parts[2], .signature)
        guard signature.count == Self.signatureBytes else { throw .signatureLength }
        self.header = try Self.object(header, .header)
        signingInput = bytes[..<parts[1].endIndex]
    }

    /// The claims of a JWT (RFC 7519 section 7.2, step 10).
    func claims() throws(JOSEError) -> JSONObject { try Self.object(payload, .payload) }

    /// Checks the header parameters that must be present and understood.
    ///
    /// - Parameter types: the accepted values of `typ`; nil doesn't check it.
    func requireES256(types: [String]?) throws(JOSEError) {
        guard header["crit"] == nil, header["b64"] == nil else { throw .criticalHeader }
        if let types {
            guard let type = header["typ"]?.string, types.contains(where: type.hasSameBytes) else { throw .type }
        }
        guard header["alg"]?.string?.hasSameBytes(as: "ES256") == true else { throw .algorithm }
    }

    /// ES256 (RFC 7518 section 3.4). A high S is accepted: nothing here relies on a signature being unique.
    func isSigned(by key: P256.Signing.PublicKey) -> Bool {
        guard let signature = try? P256.Signing.ECDSASignature(rawRepresentation: signature) else { return false }
        return key.isValidSignature(signature, for: SHA256.hash(data: signingInput))
    }

    private static func decode(_ text: ArraySlice<UInt8>, _ part: JOSEPart) throws(JOSEError) -> [UInt8] {
        guard let bytes = Base64URL.decode(text) else { throw .malformedBase64URL(part) }
        return bytes
    }

    private static func object(_ text: [UInt8], _ part: JOSEPart) throws(JOSEError) -> JSONObject {
        do { return try JSONReader.readObject(text) } catch { throw .malformedJSON(part, error) }
    }
}

extension CompactJWS {
    /// Signs with ES256.
    ///
    /// - Parameters:
    ///   - header: a JSON object.
    ///   - payload: a JSON object.
    static func sign(header: [UInt8], payload: [UInt8], by key: P256.Signing.PrivateKey) throws(SigningFailure)
        -> String
    {
        var text: [UInt8] = []
        text.reserveCapacity((header.count + payload.count + signatureBytes) * 4 / 3 + 8)
        Base64URL.append(header, to: &text)
        text.append(UInt8(ascii: "."))
        Base64URL.append(payload, to: &text)
        let signature: P256.Signing.ECDSASignature
        do { signature = try key.signature(for: SHA256.hash(data: text)) } catch { throw SigningFailure() }
        text.append(UInt8(ascii: "."))
        Base64URL.append(signature.rawRepresentation, to: &text)
        return String(decoding: text, as: UTF8.self)
    }
}

/// The cryptographic library couldn't sign. This doesn't happen with a valid key.
public struct SigningFailure: Error, Hashable, Sendable {
    init() {}
}
