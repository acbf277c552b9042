/// Why one of Apple's calls failed: the codes of `DCError`.
public enum AppAttestFailure: Error, Sendable, Equatable {
    /// `featureUnsupported`: a simulator, an old device, an app extension, or a missing entitlement.
    case unsupported
    /// `invalidInput`.
    case invalidInput
    /// `invalidKey`: the key was made by another installation, or restored from a backup, or is attested already.
    case invalidKey
    /// `serverUnavailable`: Apple's servers. The same key can be attested later.
    case serverUnavailable
    /// `unknownSystemFailure`.
    case systemFailure
    /// Any other error, with its code.
    case other(Int)

    /// - Parameter code: of an error in `DCError`'s domain.
    public init(code: Int) {
        self =
            switch code {
            case 0: .systemFailure
            case 1: .unsupported
            case 2: .invalidInput
            case 3: .invalidKey
            case 4: .serverUnavailable
            default: .other(code)
            }
    }

    /// The key itself is no longer good: only a new one helps.
    var wantsNewKey: Bool { self == .invalidKey || self == .invalidInput }

    var isPassing: Bool { self == .serverUnavailable || self == .systemFailure }

    var userMessage: String {
        switch self {
        case .unsupported: GateError.appAttestUnsupported.userMessage
        case .serverUnavailable: "Apple's servers can't be reached at the moment. Please try again later."
        default:
            "This device couldn't prove that the app is genuine. Please try again; if that fails, reinstall the app."
        }
    }
}
