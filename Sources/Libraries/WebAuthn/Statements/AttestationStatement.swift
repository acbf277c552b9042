import CBOR

/// What an attestation statement is about.
struct AttestedSubject: Sendable {
    /// The bytes as received.
    let authenticatorData: [UInt8]
    /// SHA-256 of the client data.
    let clientDataHash: [UInt8]
    let credential: AttestedCredential
    let publicKey: CredentialPublicKey
    let rpIDHash: [UInt8]

    /// "the concatenation of authenticatorData and clientDataHash".
    var signedBytes: [UInt8] { authenticatorData + clientDataHash }
}

/// A statement of any format, read and not verified (§7.1 step 21).
enum AttestationStatement: Sendable {
    case none
    case packed(PackedStatement)
    case apple(AppleStatement)
    case androidKey(AndroidKeyStatement)
    case fidoU2F(FIDOU2FStatement)
    /// A format whose statements aren't verified: `tpm`, `android-safetynet`, `compound`, and those that aren't known.
    case unverified

    private static let formatNone = "none"

    init(format: String, _ value: CBORValue) throws(StatementFault) {
        if format.utf8.elementsEqual(Self.formatNone.utf8) {
            guard case .map(let map) = value else { throw .notAMap }
            guard map.entries.isEmpty else { throw .notEmpty }
            self = .none
            return
        }
        let known = AttestationFormat.allCases.first { $0.rawValue.utf8.elementsEqual(format.utf8) }
        guard let known else {
            self = .unverified
            return
        }
        guard case .map(let map) = value else { throw .notAMap }
        switch known {
        case .packed: self = .packed(try PackedStatement(map))
        case .apple: self = .apple(try AppleStatement(map))
        case .androidKey: self = .androidKey(try AndroidKeyStatement(map))
        case .fidoU2F: self = .fidoU2F(try FIDOU2FStatement(map))
        }
    }

    /// The verification procedure of the format (§7.1 step 22).
    func verify(_ subject: AttestedSubject) throws(StatementFault) -> AttestationEvidence {
        switch self {
        case .none: .none
        case .packed(let statement): try statement.verify(subject)
        case .apple(let statement): try statement.verify(subject)
        case .androidKey(let statement): try statement.verify(subject)
        case .fidoU2F(let statement): try statement.verify(subject)
        case .unverified: .unverified
        }
    }
}

/// The output of a verification procedure: the attestation type and the trust path.
enum AttestationEvidence: Sendable {
    case none
    case selfSigned
    case unverified
    case certified(CertifiedStatement)
}

/// A correct statement with certificates. Nothing vouches for them yet.
struct CertifiedStatement: Sendable {
    let format: AttestationFormat
    let path: CertificatePath
    /// False for an Android key that may be in software.
    var isInHardware = true
}

extension CBORMap {
    /// `alg`, if it is one of the algorithms that are verified.
    func statementAlgorithm() throws(StatementFault) -> CredentialAlgorithm {
        guard let number = self[StatementField.alg.rawValue]?.integer else { throw .unreadableField(.alg) }
        guard let algorithm = CredentialAlgorithm(rawValue: number) else { throw .algorithmNotSupported(number) }
        return algorithm
    }

    func statementSignature() throws(StatementFault) -> [UInt8] {
        guard let signature = self[StatementField.sig.rawValue]?.bytes else { throw .unreadableField(.sig) }
        return signature
    }

    /// `x5c`: at least one certificate.
    func statementCertificates() throws(StatementFault) -> CertificatePath {
        guard case .array(let elements)? = self[StatementField.x5c.rawValue] else { throw .unreadableField(.x5c) }
        guard (1...WebAuthnLimits.maximumCertificates).contains(elements.count) else {
            throw .certificateCount(elements.count)
        }
        let encoded = elements.compactMap(\.bytes)
        guard encoded.count == elements.count else { throw .unreadableField(.x5c) }
        return try CertificatePath(encoded)
    }
}

extension VerifyingKey {
    func verifyStatement(_ signature: [UInt8], over message: [UInt8]) throws(StatementFault) {
        do { try verify(signature, over: message) } catch {
            switch error {
            case .malformed: throw .malformedSignature
            case .mismatch: throw .signatureMismatch
            }
        }
    }
}
