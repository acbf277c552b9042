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

/// Access tokens of players. There is no next one without a passkey: whatever will renew a sign-in without one belongs
/// into ``newToken()``.
struct PlayerTokenSource: TokenSource {
    /// Has the device key, to which players' tokens are bound, too, and the servers' nonces.
    let issuer: TokenIssuer

    var key: AttestedKey { issuer.key }

    func newToken() async throws -> TokenIssuer.Answer { throw GateError.signInRequired }

    func keep(nonce: String, of url: String) async { await issuer.keep(nonce: nonce, of: url) }

    func proof(_ method: String, _ url: String, accessToken: String?) async throws -> String {
        try await issuer.proof(method, url, accessToken: accessToken)
    }
}
