import Crypto
import KeyStore
import WireText

/// A header field of a request that is signed by itself.
package enum SignedField: Int, CaseIterable, Sendable {
    case keyID, challenge, assertion, clientData, bodyDigest, attestation
    /// Of a proxy: the length of the body that its client has sent.
    case originalLength

    /// In lower case.
    package var name: String {
        switch self {
        case .keyID: "x-appattest-keyid"
        case .challenge: "x-appattest-challenge"
        case .assertion: "x-appattest-assertion"
        case .clientData: "x-appattest-clientdata"
        case .bodyDigest: "x-appattest-bodysha256"
        case .attestation: "x-appattest-attestation"
        case .originalLength: "x-original-content-length"
        }
    }

    /// One of these makes a request a signed one.
    package static let choosing: [SignedField] = [.keyID, .challenge, .assertion, .clientData]
    /// Of an answer.
    package static let nextChallenge = "X-AppAttest-Next-Challenge"
}

/// The header fields of a request that is signed by itself: the values of all fields of each name.
package struct SignedFields: Sendable {
    /// In the order of ``SignedField``.
    private let values: [[String]]

    /// - Parameter values: of all fields of a lower-case name.
    package init(_ values: (String) -> [String]) {
        self.values = SignedField.allCases.map { values($0.name) }
    }

    package var arePresent: Bool { SignedField.choosing.contains { !self[$0].isEmpty } }

    subscript(field: SignedField) -> [String] { values[field.rawValue] }

    /// - Returns: nil when absent, which differs from empty.
    func single(_ field: SignedField) throws(SignedRequestFault) -> String? {
        guard self[field].count <= 1 else { throw .repeated(field) }
        return self[field].first
    }

    func required(_ field: SignedField) throws(SignedRequestFault) -> String {
        guard let text = try single(field), !text.isEmpty else { throw .missing(field) }
        return text
    }

    /// The client data as it is hashed, before anything is checked; nil if it can't be used.
    package var clientData: [UInt8]? {
        guard self[.clientData].count == 1, let text = self[.clientData].first,
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
            key: try fields.required(SignedField.keyID), challenge: try fields.required(SignedField.challenge),
            assertion: try fields.required(SignedField.assertion), data: try fields.required(SignedField.clientData)
        )
        guard let key = KeyID(text: texts.key) else { throw .malformed(SignedField.keyID) }
        guard let assertion = Base64.decode(texts.assertion, maximumBytes: maximumAssertionBytes), !assertion.isEmpty
        else { throw .malformed(SignedField.assertion) }
        let clientData = try SignedClientData(texts.data)
        guard clientData.challenge.hasSameBytes(as: texts.challenge) else { throw .challengesDiffer }
        (self.key, self.assertion, self.clientData) = (key, assertion, clientData)
        (challenge, clientDataBytes) = (texts.challenge, Array(texts.data.utf8))
        bodyDigest = try fields.single(SignedField.bodyDigest).map { text throws(SignedRequestFault) in
            guard let digest = Base64.decode(text, maximumBytes: Self.digestBytes), digest.count == Self.digestBytes
            else { throw .malformed(SignedField.bodyDigest) }
            return digest
        }
    }
}
