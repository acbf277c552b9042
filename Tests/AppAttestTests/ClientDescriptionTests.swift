import AppAttest
import RequestErrors
import Testing

/// What servers tell their clients of attestations and assertions.
struct ClientDescriptionTests {
    private static let attestations: [AttestationError] =
        [
            .malformedObject(.truncated), .notAMap, .unknownField, .unknownFormat, .certificateCount(3),
            .intermediateNotCertificateAuthority, .leafIsCertificateAuthority, .intermediateKeyNotECDSA,
            .untrustedChain,
            .leafKeyNotP256, .nonceExtensionMissing, .nonceExtensionMalformed, .nonceMismatch, .keyIDMismatch,
            .malformedAuthenticatorData(.truncated), .rpIDHashMismatch, .counterNotZero(1), .unknownEnvironment,
            .credentialIDMismatch, .credentialKeyMismatch, .validationCategoryMissing, .validationCategoryNotAllowed(7),
        ] + ChainPosition.allCases.flatMap(ofCertificate) + AttestationField.allCases.map { .unreadableField($0) }
        + AttestationEnvironment.allCases.map { .environmentNotAllowed($0) }

    private static func ofCertificate(_ position: ChainPosition) -> [AttestationError] {
        [
            .malformedCertificate(position), .duplicateExtension(position), .unknownCriticalExtension(position),
            .certificateExpired(position), .certificateNotYetValid(position),
        ]
    }

    private static let assertions: [AssertionError] =
        [
            .malformedObject(.truncated), .notAMap, .unknownField, .invalidPublicKey, .malformedSignature,
            .signatureMismatch, .malformedAuthenticatorData(.truncated), .rpIDHashMismatch,
            .counterNotHigher(received: 123_456, previous: 654_321), .validationCategoryMissing,
            .validationCategoryNotAllowed(7),
        ] + AssertionField.allCases.map { .unreadableField($0) }

    static var errors: [any RequestError] { attestations as [any RequestError] + assertions }

    @Test func `every error has a description for the client, which needs no escape`() {
        for error in Self.errors {
            let text = error.clientDescription
            #expect((10...120).contains(text.utf8.count), "\(error): \(text)")
            #expect(
                text.utf8.allSatisfy { (0x20...0x7E).contains($0) && $0 != 0x22 && $0 != 0x5C }, "\(error): \(text)")
            #expect(!text.contains("registration required"), "\(error): \(text)")
            #expect(error.status == 401 && error.code.rawValue == "attestation_failed")
            #expect(
                error.wwwAuthenticate()
                    == #"AppAttest error="attestation_failed", error_description=""# + text + "\"")
        }
    }

    @Test func `nothing is told of a key but that a signature isn't its own`() {
        let (key, form, signature) = (
            AssertionError.invalidPublicKey, AssertionError.malformedSignature, AssertionError.signatureMismatch
        )
        #expect(Set([key, form, signature].map(\.clientDescription)) == ["the assertion cannot be verified"])
        let counter = AssertionError.counterNotHigher(received: 123_456, previous: 654_321).clientDescription
        #expect(!counter.contains("123456") && !counter.contains("654321"))
    }
}
