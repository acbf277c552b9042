/// An access token in memory. It is never stored.
struct AccessToken: Sendable {
    let text: String
    /// In seconds of the client's clock, which the user can't set.
    let end: Double
    /// `mode` of the answer was `dev`.
    let isDevelopment: Bool
}

/// Holds the newest access token, and says when the next one is due.
struct TokenCache: Sendable {
    /// A token is renewed this many seconds before its end.
    static let margin = 60.0
    /// A longer life isn't believed.
    static let longestLife = 86_400

    private(set) var token: AccessToken?

    func fresh(at now: Double) -> AccessToken? {
        guard let token, token.end - now > Self.margin else { return nil }
        return token
    }

    /// - Parameter requested: when its request was sent, so that the answer's time on the way isn't counted as life.
    mutating func keep(_ text: String, lifetime: Int, requested: Double, isDevelopment: Bool) -> AccessToken {
        let life = Double(min(max(lifetime, 0), Self.longestLife))
        let token = AccessToken(text: text, end: requested + life, isDevelopment: isDevelopment)
        self.token = token
        return token
    }

    /// Forgets a token that was refused, unless another caller has replaced it meanwhile.
    mutating func discard(_ refused: AccessToken) {
        if let token, token.text.isSame(as: refused.text) { self.token = nil }
    }

    mutating func clear() { token = nil }
}
