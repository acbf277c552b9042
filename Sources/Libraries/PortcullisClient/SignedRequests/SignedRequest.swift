/// What the signature of a request covers.
public enum SigningRecipe: Sendable {
    /// The challenge and the body. For gates that see bodies: the proxy in front of the service has to forward them.
    case body
    /// The challenge, the method, the URL and the body's digest, which the service has to compare. For proxies that
    /// forward no bodies.
    case digest
}

/// A request before it is signed.
struct SignedRequest: Sendable {
    let url: String
    let method: HTTPMethod
    let body: [UInt8]?
    let others: [(name: String, value: String)]
    let recipe: SigningRecipe

    /// A GET has no digest, and an empty body is none.
    var boundBody: [UInt8]? {
        guard let body, !body.isEmpty, method != .get, method != .head else { return nil }
        return body
    }

    /// The client data as bytes. They are sent and hashed as they are.
    func clientData(challenge: String) -> [UInt8] {
        switch recipe {
        case .body: ClientData.challenge(challenge)
        case .digest: ClientData.digest(challenge, method: method.rawValue, url: url, body: boundBody)
        }
    }

    func hash(clientData: [UInt8]) -> [UInt8] {
        switch recipe {
        case .body: Digest.sha256(clientData + (boundBody ?? []))
        case .digest: Digest.sha256(clientData)
        }
    }
}

/// The JSON that is hashed in front of a body.
enum ClientData {
    /// Instead of a digest, for a request without a body.
    static let absent = "absent"

    static func challenge(_ challenge: String) -> [UInt8] { JSONText.object { $0.add("challenge", challenge) } }

    static func digest(_ challenge: String, method: String, url: String, body: [UInt8]?) -> [UInt8] {
        JSONText.object {
            $0.add("challenge", challenge)
            $0.add("htm", method)
            $0.add("htu", url.withoutQuery)
            $0.add("digest", body.map { "sha-256=:\(BinaryText.base64(Digest.sha256($0))):" } ?? absent)
        }
    }
}

/// Names of header fields.
enum SignedField {
    static let keyID = "X-AppAttest-KeyId"
    static let challenge = "X-AppAttest-Challenge"
    static let assertion = "X-AppAttest-Assertion"
    static let clientData = "X-AppAttest-ClientData"
    static let bodyDigest = "X-AppAttest-BodySHA256"
    static let attestation = "X-AppAttest-Attestation"
    static let nextChallenge = "X-AppAttest-Next-Challenge"

    static func fields(
        key: String, challenge text: String, assertion bytes: [UInt8], clientData data: [UInt8], body: [UInt8]?
    ) -> HeaderFields {
        var fields: HeaderFields = [
            keyID: key, challenge: text, assertion: BinaryText.base64(bytes),
            clientData: String(decoding: data, as: UTF8.self),
        ]
        if let body { fields.add(bodyDigest, BinaryText.base64(Digest.sha256(body))) }
        return fields
    }
}
