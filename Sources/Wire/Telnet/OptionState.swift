/// One option on one side, by the Q method of RFC 1143, section 7.
///
/// The RFC writes the table for the peer's side ("him": WILL, WONT come in, DO, DONT go out) and says that our own side
/// is the same with the verbs exchanged. The table is therefore written once, in words that fit both sides: the peer's
/// request is `yes` (WILL, DO) or `no` (WONT, DONT), and so is what we send.
enum OptionState: Hashable, Codable, Sendable {
    case off
    case on
    /// We have sent `no` and wait for the answer. `thenOn`: we want it on again (the RFC's queue bit OPPOSITE).
    case turningOff(thenOn: Bool)
    /// We have sent `yes` and wait for the answer.
    case turningOn(thenOff: Bool)

    enum Word: Hashable, Sendable {
        case yes, no
    }

    /// The peer uses the option, or asks us to use it.
    ///
    /// - Parameter accepts: whether we agree if this is a new request and not an answer to ours.
    /// - Returns: what to send.
    mutating func receivedYes(accepts: Bool) -> Word? {
        switch self {
        case .off:
            if accepts { self = .on }
            return accepts ? .yes : .no
        case .on:
            return nil
        case .turningOff(let thenOn):
            // RFC 854 forbids this answer. The RFC's choice keeps both ends in agreement and ends the exchange.
            self = thenOn ? .on : .off
            return nil
        case .turningOn(thenOff: false):
            self = .on
            return nil
        case .turningOn(thenOff: true):
            self = .turningOff(thenOn: false)
            return .no
        }
    }

    /// The peer refuses the option or ends it. We must comply.
    mutating func receivedNo() -> Word? {
        switch self {
        case .off:
            return nil
        case .on:
            self = .off
            return .no
        case .turningOff(thenOn: false), .turningOn:
            self = .off
            return nil
        case .turningOff(thenOn: true):
            self = .turningOn(thenOff: false)
            return .yes
        }
    }

    /// We want the option on. If an exchange is under way, the request is queued until it ends.
    mutating func turnOn() -> Word? {
        switch self {
        case .off:
            self = .turningOn(thenOff: false)
            return .yes
        case .on:
            return nil
        case .turningOff:
            self = .turningOff(thenOn: true)
            return nil
        case .turningOn:
            self = .turningOn(thenOff: false)
            return nil
        }
    }

    /// We want the option off.
    mutating func turnOff() -> Word? {
        switch self {
        case .off:
            return nil
        case .on:
            self = .turningOff(thenOn: false)
            return .no
        case .turningOff:
            self = .turningOff(thenOn: false)
            return nil
        case .turningOn:
            self = .turningOn(thenOff: true)
            return nil
        }
    }
}
