import Admission
import Observability
import Testing

@testable import AuditTrail

/// Refused uses of refresh tokens, log-outs and sign-ins by devices.
struct AccountExplanationTests {
    private static let proof: [AdmissionCheck] = [
        .proof, .proofForm, .htm, .htu, .iat, .proofValidity, .proofKey, .proofSignature, .replay,
    ]
    private static let refresh: [AdmissionCheck] =
        [.queue, .rateLimit, .body] + proof + [
            .keyStore, .refreshKnown, .refreshLifetime, .refreshRepeat, .blockList, .account, .signingKey, .auditLog,
        ]
    private static let logOut: [AdmissionCheck] = [
        .blockList, .rateLimit, .authorization, .tokenForm, .tokenSignature, .tokenClaims, .tokenIssuer, .tokenAudience,
        .tokenLifetime, .tokenSubject, .account, .tokenBound, .ath, .tokenKey, .replay, .credential, .queue, .body,
        .auditLog, .keyStore,
    ]
    private static let deviceSignIn: [AdmissionCheck] =
        [.queue, .rateLimit, .body] + proof + [
            .blockList, .challenge, .keyStore, .keyRegistered, .keyRevoked, .keyScope, .assertionForm, .signature,
            .appID, .counter, .counterStored, .account, .signingKey, .auditLog,
        ]

    private static let refusals: [(AuditEntry.Event, String, [AdmissionCheck])] = [
        (.account, "passkey", refresh), (.refreshReuse, "passkey", [.refreshUnused]),
        (.refreshWrongKey, "passkey", [.refreshKey]), (.account, "access_token", logOut),
        (.account, "passkey", deviceSignIn),
    ]

    @Test(arguments: refusals) func `each is told by the check that failed, in its order`(
        event: AuditEntry.Event, way: String, checks: [AdmissionCheck]
    ) throws {
        for check in checks {
            var explanation = Explanation(of: Lines.id, at: nil)
            explanation.add(Lines.entry(event, way: way, reason: "invalid_token") { $0.check = check.rawValue })
            let told = try #require(explanation.records.first, "\(check)").checks
            let failed = try #require(told.first { $0.result == .failed }, "\(check)")
            #expect(
                failed.name == check.rawValue && failed.title != check.rawValue && failed.advice != nil, "\(failed)")
            #expect(told.count > 10 && told.count(where: { $0.result == .failed }) == 1, "\(check): \(told)")
            let text = explanation.text.joined(separator: "\n")
            #expect(text.contains("FAILED      \(check.title)"), "\(text)")
        }
    }
}
