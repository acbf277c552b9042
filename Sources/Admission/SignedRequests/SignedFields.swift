import Crypto
import KeyStore
import WireText

/// The `X-AppAttest-*` header fields of a request that is signed by itself: the values of all fields of each name.
package struct SignedFields: Sendable {
    package static let keyID = "x-appattest-keyid"
    package static let challenge = "x-appattest-challenge"
    package static let assertion = "x-appattest-assertion"
    package static let clientData = "x-appattest-clientdata"
    package static let bodyDigest = "x-appattest-bodysha256"
    package static let attestation = "x-appattest-attestation"
    /// Of an answer.
    package static let nextChallenge = "X-AppAttest-Next-Challenge"

    /// One of these makes a request a signed one.
    package static let choosing = [keyID, challenge, assertion, clientData]
    package static let all = choosing + [bodyDigest, attestation]

    private let values: [String: [String]]

    /// - Parameter values: of all fields of a lower-case name.
    package init(_ values: (String) -> [String]) {
        self.values = Dictionary(uniqueKeysWithValues: Self.all.map { ($0, values($0)) })
    }

    package var arePresent: Bool { Self.choosing.contains { !all($0).isEmpty } }

    private func all(_ name: String) -> [String] { values[name] ?? [] }

    /// - Returns: nil when absent, which differs from empty.
    func single(_ name: String) throws(SignedRequestFault) -> String? {
        let found = all(name)
        guard found.count <= 1 else { throw .repeated(name) }
        return found.first
    }

    func required(_ name: String) throws(SignedRequestFault) -> String {
        guard let text = try single(name), !text.isEmpty else { throw .missing(name) }
        return text
    }

    /// The client data as it is hashed, before anything is checked; nil if it can't be used.
    package var clientData: [UInt8]? {
        guard all(Self.clientData).count == 1, let text = all(Self.clientData).first,
            text.utf8.count <= SignedClientData.maximumBytes
        else { return nil }
        return Array(text.utf8)
    }
}

/// A signature as presented: each field has its form, and nothing is verified.
package struct PresentedSignature: Sendable {
    let key: KeyID
    /// As in the client data, too.
    let challenge: String
    let assertion: [UInt8]
    let clientData: SignedClientData
    /// As received: rebuilding them would fail for every client that escapes slashes.
    let clientDataBytes: [UInt8]
    /// SHA-256 of the body, as the client says.
    let bodyDigest: [UInt8]?

    static let digestBytes = 32

    init(_ fields: SignedFields, maximumAssertionBytes: Int) throws(SignedRequestFault) {
        let texts = (
            key: try fields.required(SignedFields.keyID), challenge: try fields.required(SignedFields.challenge),
            assertion: try fields.required(SignedFields.assertion), data: try fields.required(SignedFields.clientData)
        )
        guard let key = KeyID(text: texts.key) else { throw .malformed(SignedFields.keyID) }
        guard let assertion = Base64.decode(texts.assertion, maximumBytes: maximumAssertionBytes), !assertion.isEmpty
        else { throw .malformed(SignedFields.assertion) }
        let clientData = try SignedClientData(texts.data)
        guard clientData.challenge.hasSameBytes(as: texts.challenge) else { throw .challengesDiffer }
        (self.key, self.assertion, self.clientData) = (key, assertion, clientData)
        (challenge, clientDataBytes) = (texts.challenge, Array(texts.data.utf8))
        bodyDigest = try fields.single(SignedFields.bodyDigest).map { text throws(SignedRequestFault) in
            guard let digest = Base64.decode(text, maximumBytes: Self.digestBytes), digest.count == Self.digestBytes
            else { throw .malformed(SignedFields.bodyDigest) }
            return digest
        }
    }
}
