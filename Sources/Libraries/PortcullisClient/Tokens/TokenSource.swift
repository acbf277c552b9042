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

    var key: AttestedKey { issuer.key }

    /// - Throws: before the access token is used, if its successor can't be stored: the gate repeats the successor.
    func newToken() async throws -> TokenIssuer.Answer {
        guard let used = try await custody.token() else { throw GateError.signInRequired }
        do {
            let answer = try await issuer.refresh(used)
            guard let successor = answer.refreshToken else {
                throw GateError.malformedAnswer(.member("refreshToken"))
            }
            guard try await custody.replace(used, by: successor) else { throw GateError.signInRequired }
            return answer
        } catch let error as GateError where error.code.map({ $0.isSame(as: "invalid_token") }) == true {
            try await custody.drop(used)
            throw GateError.signInRequired
        }
    }

    func keep(nonce: String, of url: String) async { await issuer.keep(nonce: nonce, of: url) }

    func proof(_ method: String, _ url: String, accessToken: String?) async throws -> String {
        try await issuer.proof(method, url, accessToken: accessToken)
    }
}
