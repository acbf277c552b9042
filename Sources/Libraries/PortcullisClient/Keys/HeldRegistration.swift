/// How a dialect registers a key. It has no reference to the dialect that keeps it alive.
struct KeyRegistration: Sendable {
    /// A fresh challenge, and the client data hash that Apple attests with it.
    let challenge: @Sendable () async throws -> (challenge: HeldChallenge, hash: [UInt8])
    /// Sends the attestation. It returns once the gate has confirmed the registration.
    let send: @Sendable (_ identifier: String, _ challenge: HeldChallenge, _ attestation: [UInt8]) async throws -> Void
}

/// A registration that was begun, while its challenge is usable.
///
/// Apple attests a key once, and after `serverUnavailable` over the same hash alone. So another attempt repeats what
/// was begun, in the dialect that has begun it: a new challenge would cost a new key.
struct HeldRegistration: Sendable {
    let identifier: String
    let challenge: HeldChallenge
    let hash: [UInt8]
    let dialect: KeyRegistration
    /// nil: Apple hasn't made it yet.
    var attestation: [UInt8]?
    /// It was sent, and the answer was lost.
    private(set) var mayBeRegistered = false

    init(_ identifier: String, _ challenge: HeldChallenge, _ hash: [UInt8], _ dialect: KeyRegistration) {
        (self.identifier, self.challenge, self.hash, self.dialect) = (identifier, challenge, hash, dialect)
    }

    func isSame(as other: HeldRegistration) -> Bool {
        identifier.isSame(as: other.identifier) && challenge.text.isSame(as: other.challenge.text)
    }

    /// What another attempt may repeat; nil: the gate has refused it.
    func left(after error: GateError) -> HeldRegistration? {
        switch error {
        // The gate has counted it, and done nothing.
        case .refused(let refusal) where refusal.status == 429: self
        // The challenge may be used up, and the key stored. A proxy speaks for a gate that may have done it.
        case .refused(let refusal) where refusal.reaction == .wait: unanswered
        case .refused, .clockSkew, .malformedAnswer, .redirected: nil
        // It wasn't sent.
        case .network(.unreachable), .network(.untrustedServer), .network(.pinMismatch): self
        case .network, .timedOut(.request), .cancelled: unanswered
        default: self
        }
    }

    private var unanswered: HeldRegistration {
        var held = self
        held.mayBeRegistered = mayBeRegistered || attestation != nil
        return held
    }
}
