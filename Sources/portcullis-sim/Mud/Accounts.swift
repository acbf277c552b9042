import Crypto

/// Names and their passwords, for the lifetime of the process. A password is stored as an authentication code under a key of the
/// process.
struct Accounts: Sendable {
    enum Answer: Hashable, Sendable {
        /// The name is new: the password becomes its password.
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
        // The code includes the name and its terminator, so that equal passwords have different codes.
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
