import DPoP
import StrictJSON
import WireText

/// The client data of a signed request: strict JSON, of one of two recipes.
///
///     1   {"challenge":"…"}                                            the body follows it in the hash
///     2   {"challenge":"…","htm":"PUT","htu":"https://…","digest":"…"}  the body's digest is in it
///
/// Nothing lies between the two: a request can't choose a recipe by leaving a member out.
struct SignedClientData: Sendable {
    static let maximumBytes = 1_024
    /// More than any request has: a client data with more is refused for its members.
    private static let bounds = JSONBounds(
        maximumBytes: maximumBytes, maximumDepth: 1, maximumValues: 8, maximumNumberBytes: 8)

    let challenge: String
    let recipe: Recipe

    enum Recipe: Sendable {
        /// The challenge and the body. It binds neither method nor URL.
        case body
        case request(method: String, url: TargetURI, digest: ContentDigest)
    }

    var isOfBody: Bool { if case .body = recipe { true } else { false } }

    init(_ text: String) throws(SignedRequestFault) {
        // In ASCII the text is what was received, and looks the same to everybody.
        guard text.utf8.count <= Self.maximumBytes, text.utf8.allSatisfy({ (0x20...0x7E).contains($0) }),
            let object = try? JSONReader.readObject(Array(text.utf8), within: Self.bounds)
        else { throw .malformed(SignedField.clientData) }
        let challenge = try Self.text("challenge", in: object)
        self.challenge = challenge
        guard object["htm"] != nil else {
            guard object.members.count == 1 else { throw .members }
            recipe = .body
            return
        }
        guard object.members.count == 4 else { throw .members }
        let (method, url) = (try Self.text("htm", in: object), try Self.text("htu", in: object))
        guard let url = TargetURI(url), let digest = ContentDigest(try Self.text("digest", in: object)) else {
            throw .malformed(SignedField.clientData)
        }
        recipe = .request(method: method, url: url, digest: digest)
    }

    private static func text(_ name: String, in object: JSONObject) throws(SignedRequestFault) -> String {
        guard let text = object[name]?.string else { throw .members }
        return text
    }
}

/// The digest of a body as RFC 9530 writes it, with exactly one algorithm.
package enum ContentDigest: Sendable, Equatable {
    case sha256([UInt8])
    /// There is no body.
    case absent

    private static let (prefix, suffix) = ("sha-256=:", ":")

    init?(_ text: String) {
        if text.hasSameBytes(as: "absent") {
            self = .absent
            return
        }
        guard text.hasBytePrefix(Self.prefix), text.utf8.count == Self.prefix.utf8.count + 44 + 1,
            text.utf8.last == Self.suffix.utf8.first
        else { return nil }
        let encoded = String(decoding: text.utf8.dropFirst(Self.prefix.utf8.count).dropLast(), as: UTF8.self)
        let bytes = Base64.decode(canonical: encoded, maximumBytes: PresentedSignature.digestBytes)
        guard let bytes, bytes.count == PresentedSignature.digestBytes else { return nil }
        self = .sha256(bytes)
    }

    package var text: String {
        switch self {
        case .sha256(let bytes): Self.prefix + Base64.encode(bytes) + Self.suffix
        case .absent: "absent"
        }
    }
}
