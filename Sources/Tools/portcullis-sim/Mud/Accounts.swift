import Crypto

/// Names and their passwords, for the lifetime of the process. A password is stored as an authentication code under a
/// key of the process.
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

/// The limits of everything that a peer could make grow, each with its default.
struct MudLimits: Sendable {
    /// The most connections at a time, logged in or not; further ones are refused with a line of text.
    var maximumConnections = 256
    /// The most names stored with their passwords during the process's lifetime; at the limit only known names may log
    /// in.
    var maximumAccounts = 4096
    /// The longest input line without its line end. A longer one is dropped entirely.
    var maximumLineBytes = 1024
    /// The most lines taken from one call of `received`. The rest of the call is dropped, so that a small flood of
    /// input can't become a large flood of output.
    var maximumLinesPerRead = 64
    /// The most letters in a name; the least is 2.
    var maximumNameLength = 16
    var maximumPasswordBytes = 128
    /// The wrong passwords after which the connection is closed.
    var maximumPasswordAttempts = 3
    /// NAWS needs 4 bytes, a terminal type about 40; only GMCP may need more.
    var maximumSubnegotiationBytes = 8192
    /// The most answers in a terminal type cycle; MTTS has three and a repetition.
    var maximumTerminalTypes = 4
    /// The most characters of a client's description that are shown to others.
    var maximumClientNameLength = 32
}
