import Crypto

/// Names and their passwords, as long as the process lives. A password is kept as a code under a key of the process alone.
struct Accounts: Sendable {
    enum Answer: Hashable, Sendable {
        /// The first use of the name: the password is its password from now on.
        case created
        case matches
        case wrongPassword
        case full
    }

    private let key = SymmetricKey(size: .bits256)
    private let maximumAccounts: Int
    private var codes: [String: HMAC<SHA256>.MAC] = [:]

    init(maximumAccounts: Int) {
        self.maximumAccounts = maximumAccounts
    }

    mutating func check(name: String, password: String) -> Answer {
        // The name stands first, with its end marked, so that equal passwords have different codes.
        let input = Array(name.utf8) + [0] + Array(password.utf8)
        if let code = codes[name] {
            // This comparison takes the same time wherever the difference is.
            return HMAC.isValidAuthenticationCode(code, authenticating: input, using: key) ? .matches : .wrongPassword
        }
        guard codes.count < maximumAccounts else { return .full }
        codes[name] = HMAC.authenticationCode(for: input, using: key)
        return .created
    }
}
