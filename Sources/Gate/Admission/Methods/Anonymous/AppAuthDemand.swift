package import KeyStore

/// `REQUIRE_APP_AUTH`: what becomes of clients without valid app authentication.
package enum AppAuthDemand: Sendable, Equatable {
    /// `true`: they are refused.
    case required
    /// `false`: those without credentials are anonymous, and wrong credentials are refused.
    case notRequired
    /// `report`: they are anonymous and recorded as what they would have been refused for, before the given time
    /// (`REPORT_UNTIL`, Unix milliseconds). From then on they are refused.
    case reported(until: Int64)

    /// Whether clients are admitted that `required` would refuse.
    package func isOpen(at time: Int64) -> Bool {
        switch self {
        case .required: false
        case .notRequired: true
        case .reported(let end): time < end
        }
    }
}

/// What is kept of a client that was admitted only because of `REQUIRE_APP_AUTH=report`: the sessions of such clients
/// end with the mode.
package struct ReportedAdmission: AdmissionProof {
    /// What the client would have been told.
    package let refusal: Refusal

    package var isLarge: Bool { false }
    package var routes: Set<String>? { nil }

    /// The client has proved nothing that could be taken back.
    package func isRevoked(by revocations: Revocations) -> Bool { false }

    package static var expiry: ProofExpiry<ReportedAdmission> { .withReportMode }
    package func name(for name: MethodName) -> MethodName { name }
    package var accountEvidence: AccountEvidence? { nil }
    package var account: AccountID? { nil }
    package var origins: [Identity] { [] }

    init(_ refusal: Refusal) { self.refusal = refusal.withTextsMade }

    /// Another process needs to know only that the client was reported: its refusal is in the audit log.
    package init(from decoder: any Decoder) throws {
        self.init(Refusal(.appAuthRequired, detail: "reported by the process before"))
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.unkeyedContainer()
        try container.encode(true)
    }
}

extension Principal {
    /// What this client would have been refused for; nil for all others.
    package var reported: Refusal? { (proof as? ReportedAdmission)?.refusal }
}

extension Refusal {
    /// Whether it is for lack of app authentication, or for a fault in it, which `REQUIRE_APP_AUTH=report` only
    /// records.
    ///
    /// Not among them are the operator's decisions about this client (revocations, the block list, routes), other
    /// credentials (tickets, client certificates, shared secrets), limits, what a client is asked to repeat (a nonce of
    /// the server), and failures of the gateway.
    var isOfAppAuthentication: Bool {
        switch failed.check {
        case .keyRevoked, .blockList, .identityBlocked, .developmentToken, .route, .holder, .keyStore: return false
        default: break
        }
        return switch code {
        case .appAuthRequired, .invalidResume, .invalidNonce, .unknownKey, .assertionRejected, .digestMismatch,
            .keyMismatch,
            .invalidToken, .invalidProof, .invalidRequest, .clockSkew:
            true
        default: false
        }
    }
}
