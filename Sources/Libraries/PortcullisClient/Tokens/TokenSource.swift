/// Where access tokens come from, and what signs the proofs that go with them.
///
/// A device gets its tokens by itself (``TokenIssuer``). A player's begin with a sign-in (``PlayerTokenSource``).
protocol TokenSource: Sendable {
    /// The App Attest key of this installation.
    var key: AttestedKey { get }

    /// - Throws: ``GateError/signInRequired`` where only the user can bring one.
    func newToken() async throws -> TokenIssuer.Answer

    /// Keeps a server's nonce for the next proofs.
    func keep(nonce: String, of url: String) async

    func proof(_ method: String, _ url: String, accessToken: String?) async throws -> String
}

/// Access tokens of players: with the stored refresh token, if there is one.
struct PlayerTokenSource: TokenSource {
    /// Has the device key, to which players' tokens are bound, too, and the servers' nonces.
    let issuer: TokenIssuer
    let custody: RefreshCustody
    /// One use of a refresh token at a time, and each is finished: its successor is stored though nobody waits for it
    /// any more.
    private let uses = SingleFlight<TokenIssuer.Answer>(isFinishedAlways: true)

    init(issuer: TokenIssuer, custody: RefreshCustody) { (self.issuer, self.custody) = (issuer, custody) }

    var key: AttestedKey { issuer.key }

    /// - Throws: before the access token is used, if its successor can't be stored. Whoever repeats this uses the same
    ///   refresh token, and the gate repeats the successor.
    func newToken() async throws -> TokenIssuer.Answer { try await uses.run { [self] in try await refreshed() } }

    private func refreshed() async throws -> TokenIssuer.Answer {
        // Once more, because a sign-in may store another token meanwhile.
        for _ in 0..<2 {
            guard let token = try await custody.token(at: issuer.serverTime) else { break }
            if let answer = try await answer(using: token) { return answer }
        }
        throw GateError.signInRequired
    }

    /// - Returns: nil: the token isn't good, or isn't the stored one any more.
    private func answer(using token: String) async throws -> TokenIssuer.Answer? {
        let answer: TokenIssuer.Answer
        do { answer = try await issuer.refresh(token) } catch let error as GateError where error.refusesToken {
            try await custody.drop(token)
            return nil
        }
        guard let successor = answer.refreshToken else { throw GateError.malformedAnswer(.member("refreshToken")) }
        return try await custody.replace(token, by: successor) ? answer : nil
    }

    func keep(nonce: String, of url: String) async { await issuer.keep(nonce: nonce, of: url) }

    func proof(_ method: String, _ url: String, accessToken: String?) async throws -> String {
        try await issuer.proof(method, url, accessToken: accessToken)
    }
}

extension GateError {
    /// Nothing else says that a token isn't good any more: no other status, and no other code.
    var refusesToken: Bool { refusal.map { $0.status == 401 && $0.code.isSame(as: "invalid_token") } ?? false }
}
