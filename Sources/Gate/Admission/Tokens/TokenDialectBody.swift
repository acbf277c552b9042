import AppAttest
import DPoP
import KeyStore
import StrictJSON
import WireText

/// The body of `POST /attest/register` and `POST /token` in the token dialect: the common members, and accessors for
/// the rest. Unknown members are ignored; a repeated member is refused.
struct TokenDialectBody {
    /// The maximum size of an app's name without an attestation.
    static let maximumAppBytes = 255
    /// The maximum size of a development token.
    static let maximumDevelopmentTokenBytes = 512

    private let object: JSONObject
    /// `device_key_jwk`
    let key: PublicJWK
    /// `dpop`: a copy of the proof.
    let proof: String?

    init(_ body: [UInt8], maximumBytes: Int) throws(RefusedRequest) {
        guard body.count <= maximumBytes else {
            throw RefusedRequest(.token(.bodyTooLarge, detail: "body is over MAX_BODY_BYTES"))
        }
        let object: JSONObject
        do { object = try JSONReader.readObject(body, maximumBytes: maximumBytes) } catch {
            throw Self.malformed("the body is not a JSON object", "body: \(error)")
        }
        try self.init(object)
    }

    init(_ object: JSONObject) throws(RefusedRequest) {
        self.object = object
        guard let jwk = object["device_key_jwk"]?.object else { throw Self.malformed("device_key_jwk is missing") }
        do { key = try PublicJWK(jwk) } catch {
            throw Self.malformed("device_key_jwk is not a public key on P-256", "device_key_jwk: \(error)")
        }
        switch object["dpop"] {
        case nil: proof = nil
        case .string(let text)?: proof = text
        default: throw Self.malformed("dpop is not a text")
        }
    }

    /// Whether the response may have `token_type`: strict decoders accept only the documented members.
    var wantsTokenType: Bool { object["token_type"]?.string.map { $0.hasSameBytes(as: "DPoP") } ?? false }

    var hasAttestation: Bool { Self.isPresent(object["attestation"]) }
    var hasDevelopmentToken: Bool { Self.isPresent(object["dev_token"]) }

    /// `nonce`, as sent: the challenge decides whether it is authentic.
    func nonce() throws(RefusedRequest) -> String { try Self.text("nonce", in: object) }

    /// `dev_token`
    func developmentToken() throws(RefusedRequest) -> String {
        let token = try Self.text("dev_token", in: object)
        guard token.utf8.count <= Self.maximumDevelopmentTokenBytes else {
            throw Self.malformed("dev_token is too long")
        }
        return token
    }

    /// `attestation.key_id`
    func keyID() throws(RefusedRequest) -> KeyID {
        guard let id = KeyID(text: try Self.text("key_id", in: try attestation())) else {
            throw Self.malformed("attestation.key_id is not base64 of 32 bytes")
        }
        return id
    }

    /// The app that the request names; unverified until the attestation is.
    func app() throws(RefusedRequest) -> AppID {
        let bundleID = try Self.text("bundle_id", in: try appObject())
        let teamID = try Self.text("team_id", in: try attestation())
        guard let app = AppID(teamID: teamID, bundleID: bundleID) else {
            throw Self.malformed("attestation.team_id or app.bundle_id is malformed")
        }
        return app
    }

    /// The app of a request without an attestation: the bundle identifier, or on Android the package.
    func unattestedApp() throws(RefusedRequest) -> String {
        let object = try appObject()
        let member = object["bundle_id"] == nil ? "package_name" : "bundle_id"
        let name = try Self.text(member, in: object)
        guard name.utf8.count <= Self.maximumAppBytes, name.utf8.allSatisfy(Self.isNameByte) else {
            throw Self.malformed("app.\(member) is malformed")
        }
        return name
    }

    /// `attestation.attestation`
    func attestationObject(maximumBytes: Int) throws(RefusedRequest) -> [UInt8] {
        try Self.bytes("attestation", in: try attestation(), maximumBytes: maximumBytes)
    }

    /// `attestation.assertion`
    func assertionObject(maximumBytes: Int) throws(RefusedRequest) -> [UInt8] {
        try Self.bytes("assertion", in: try attestation(), maximumBytes: maximumBytes)
    }

    /// - Throws: for any type but App Attest.
    private func attestation() throws(RefusedRequest) -> JSONObject {
        guard let attestation = object["attestation"]?.object else { throw Self.malformed("attestation is missing") }
        guard try Self.text("type", in: attestation).hasSameBytes(as: "app_attest") else {
            throw Self.malformed("attestation.type is not app_attest")
        }
        return attestation
    }

    private func appObject() throws(RefusedRequest) -> JSONObject {
        guard let app = object["app"]?.object else { throw Self.malformed("app is missing") }
        return app
    }

    private static func isPresent(_ value: JSONValue?) -> Bool {
        if case .null? = value { return false }
        return value != nil
    }

    private static func text(_ name: String, in object: JSONObject) throws(RefusedRequest) -> String {
        guard let text = object[name]?.string, !text.isEmpty else { throw malformed("\(name) is missing") }
        return text
    }

    private static func bytes(
        _ name: String, in object: JSONObject, maximumBytes: Int
    ) throws(RefusedRequest) -> [UInt8] {
        guard let bytes = Base64.decode(try text(name, in: object), maximumBytes: maximumBytes) else {
            throw malformed("attestation.\(name) is not base64, or too long")
        }
        return bytes
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }

    /// - Parameters:
    ///   - problem: for the client: names members, and quotes nothing.
    ///   - detail: for the log; nil: the same.
    static func malformed(_ problem: String, _ detail: String? = nil) -> RefusedRequest {
        RefusedRequest(.token(.invalidRequest, detail: detail ?? problem, reason: problem, failed: FailedCheck(.body)))
    }
}
