package import FoundationEssentials
package import KeyStore

/// What a method keeps of a verified credential in order to recheck it. Its lifetime is that of the session and its
/// tickets; with them it crosses to a process that replaces this one.
///
/// Sessions outlive the credential that they began with. So each kind of proof says what takes it back, when it ends,
/// and by which further names a block list has its client: each closes the sessions. Nothing here has a default.
package protocol AdmissionProof: Codable, Sendable {
    /// Whether it takes kilobytes. Tickets of one client share one such proof, and their number is limited
    /// (``TicketOffice/maximumLargeProofs``).
    var isLarge: Bool { get }
    /// The only routes that it opens, for targets that the client chooses during its session too; nil: all that its
    /// method may use.
    var routes: Set<String>? { get }

    /// Whether what it proves has been taken back.
    func isRevoked(by revocations: Revocations) -> Bool

    /// When its sessions end, if nothing takes it back.
    static var expiry: ProofExpiry<Self> { get }

    /// The method's name for this client, whose identity was read from what another process has written. It has the
    /// same label; only a method whose clients may use different routes has several.
    func name(for name: MethodName) -> MethodName

    /// What it proves about a player's account; nil: nothing.
    var accountEvidence: AccountEvidence? { get }

    /// The player's account, as it was known at the admission: that of a sign-in, or that a device has joined.
    var account: AccountID? { get }

    /// Of what the account or the sign-in ends with, if it ends with something that a block list may have.
    var origins: [Identity] { get }
}

extension AdmissionProof {
    /// Beside the identity: by which a block list may have the client, too.
    var furtherNames: [Identity] { (account.map { [Identity.account($0)] } ?? []) + origins }
}

/// When the sessions of a kind of proof end.
package enum ProofExpiry<Proof: AdmissionProof>: Sendable {
    /// They may last as long as any session.
    case never
    /// At the proof's time, whatever the settings are.
    case at(@Sendable (Proof) -> Date)
    /// At the proof's time, unless `SESSION_OUTLIVES_TOKEN`.
    case withToken(@Sendable (Proof) -> Date)
    /// With `REQUIRE_APP_AUTH=report`.
    case withReportMode
}

extension AdmissionProof {
    /// Whether sessions of such proofs may end by the clock.
    static func mayExpire(unlessOutlived sessionsOutliveTokens: Bool) -> Bool {
        switch expiry {
        case .never, .withReportMode: false
        case .at: true
        case .withToken: !sessionsOutliveTokens
        }
    }

    fileprivate func hasExpired(at time: Date, unlessOutlived sessionsOutliveTokens: Bool) -> Bool {
        switch Self.expiry {
        case .never, .withReportMode: false
        case .at(let end): end(self) <= time
        case .withToken(let end): !sessionsOutliveTokens && end(self) <= time
        }
    }

    fileprivate static var endsWithReportMode: Bool { if case .withReportMode = expiry { true } else { false } }
}

/// A client without a proof has shown no credential of its own: nothing takes it back, and it doesn't expire.
extension Principal {
    package func isRevoked(by revocations: Revocations) -> Bool { proof?.isRevoked(by: revocations) ?? false }

    /// - Parameter sessionsOutliveTokens: `SESSION_OUTLIVES_TOKEN`
    package func hasExpired(at time: Date, unlessOutlived sessionsOutliveTokens: Bool) -> Bool {
        proof?.hasExpired(at: time, unlessOutlived: sessionsOutliveTokens) ?? false
    }

    /// The end of `REQUIRE_APP_AUTH=report` ends its sessions.
    package var endsWithReportMode: Bool { proof.map { type(of: $0).endsWithReportMode } ?? false }
}

/// The proof of methods that keep none.
package enum NoProof: AdmissionProof {
    package init(from decoder: any Decoder) throws { throw CarriedStateFault() }

    package func encode(to encoder: any Encoder) throws {}

    package var isLarge: Bool { switch self {} }
    package var routes: Set<String>? { switch self {} }
    package func isRevoked(by revocations: Revocations) -> Bool { switch self {} }
    package static var expiry: ProofExpiry<NoProof> { .never }
    package func name(for name: MethodName) -> MethodName { switch self {} }
    package var accountEvidence: AccountEvidence? { switch self {} }
    package var account: AccountID? { switch self {} }
    package var origins: [Identity] { switch self {} }
}
