import Admission
import DPoP
import KeyStore
import StrictJSON
import WireText

/// The body of a request about accounts. Unknown members are ignored; a repeated member is refused.
struct AccountBody {
    private let object: JSONObject

    /// - Parameter body: an empty one is an empty object, for requests that need no member.
    init(_ body: [UInt8], maximumBytes: Int) throws(RefusedRequest) {
        guard body.count <= maximumBytes else {
            throw RefusedRequest(Refusal(.bodyTooLarge, detail: "body is over MAX_BODY_BYTES"))
        }
        guard !body.isEmpty else {
            object = JSONObject()
            return
        }
        do { object = try JSONReader.readObject(body, maximumBytes: maximumBytes) } catch {
            throw .malformed("the body is not a JSON object", "body: \(error)")
        }
    }

    /// The whole body is what `toJSON()` of a credential returns.
    func credential() throws(RefusedRequest) -> CredentialJSON { try CredentialJSON(object) }

    /// A credential in a member; nil if there is none.
    func credential(in name: String) throws(RefusedRequest) -> CredentialJSON? {
        guard let value = object[name], !value.isNull else { return nil }
        guard let member = value.object else { throw .malformed("\(name) is not an object") }
        return try CredentialJSON(member)
    }

    func object(_ name: String) throws(RefusedRequest) -> JSONObject {
        guard let member = object[name]?.object else { throw .malformed("\(name) is missing") }
        return member
    }

    /// `label`: the player's own words.
    func label() throws(RefusedRequest) -> String {
        guard let value = object["label"], !value.isNull else { return "" }
        guard let label = value.string, label.utf8.count <= AccountLimits.maximumLabelBytes else {
            throw .malformed("label is not a text of at most \(AccountLimits.maximumLabelBytes) bytes")
        }
        guard !label.unicodeScalars.contains(where: Self.isHidden) else {
            throw .malformed("label has control characters")
        }
        return label
    }

    /// A member that is a text; nil if there is none.
    func text(_ name: String) -> String? { object[name]?.string }

    /// A member that is true or false; false if there is none.
    func flag(_ name: String) throws(RefusedRequest) -> Bool {
        guard let value = object[name], !value.isNull else { return false }
        guard case .bool(let flag) = value else { throw .malformed("\(name) is neither true nor false") }
        return flag
    }

    /// Control characters, which databases and terminals don't take as text, and those that turn the direction of it.
    private static func isHidden(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7F..<0xA0, 0x202A...0x202E, 0x2066...0x2069: true
        default: false
        }
    }

    /// `dpop_jkt` (RFC 9449 section 10): the key that will sign the proof.
    func keyThumbprint() throws(RefusedRequest) -> JWKThumbprint {
        guard let text = object["dpop_jkt"]?.string, let thumbprint = JWKThumbprint(text: text) else {
            throw .malformed("dpop_jkt is not the thumbprint of a key")
        }
        return thumbprint
    }
}

/// A credential as `PublicKeyCredential.toJSON()` returns it (Web Authentication Level 3, section 5.1).
struct CredentialJSON {
    /// Of one with the longest identifier in base64url.
    private static let maximumIDBytes = (AccountLimits.maximumCredentialIDBytes * 4 + 2) / 3

    let id: [UInt8]
    private let response: JSONObject

    init(_ object: JSONObject) throws(RefusedRequest) {
        guard let response = object["response"]?.object else { throw Self.bare(object) }
        guard let text = object["id"]?.string else { throw .malformed("id is missing") }
        guard text.utf8.count <= Self.maximumIDBytes, let id = Base64URL.decode(text), !id.isEmpty else {
            throw .malformed("id is not base64url of 1 to \(AccountLimits.maximumCredentialIDBytes) bytes")
        }
        if let type = object["type"], type.string?.hasSameBytes(as: "public-key") != true {
            throw .malformed("type is not public-key")
        }
        (self.id, self.response) = (id, response)
    }

    /// A key and a signature alone prove nothing: what was signed is missing.
    private static func bare(_ object: JSONObject) -> RefusedRequest {
        object["signature"] == nil && object["publicKey"] == nil
            ? .malformed("response is missing")
            : .malformed("response.clientDataJSON is missing: send what toJSON() of the credential returns")
    }

    /// A member of `response`, base64url without padding.
    func bytes(_ name: String) throws(RefusedRequest) -> [UInt8] {
        guard let text = response[name]?.string else { throw .malformed("response.\(name) is missing") }
        guard let bytes = Base64URL.decode(text) else { throw .malformed("response.\(name) is not base64url") }
        return bytes
    }

    /// `userHandle`: the account that the authenticator has kept; nil if it tells none.
    func userHandle() throws(RefusedRequest) -> [UInt8]? {
        guard let value = response["userHandle"], !value.isNull else { return nil }
        return try bytes("userHandle")
    }
}
