import WireText

/// Refuses blocked addresses, and requests that claim a blocked identity, before a credential is verified or used up. A client that falsely
/// claims a blocked identity is refused too.
///
/// The owner of a ticket is known only after it is spent, so the gate checks every verified identity again.
struct BlockPolicy: AdmissionPolicy {
    let list: BlockList

    func evaluate(_ attempt: AdmissionAttempt) -> PolicyOutcome {
        if let refusal = refusal(of: attempt.request.address) { return .refused(refusal) }
        for credential in attempt.presented {
            if let identity = credential.claim.identity, let refusal = refusal(of: identity) {
                return .refused(refusal)
            }
        }
        return .passed
    }

    func refusal(of address: IPAddress) -> Refusal? {
        list.contains(address) ? Refusal(.deviceBlocked, detail: "address is blocked") : nil
    }

    func refusal(of identity: Identity) -> Refusal? {
        list.contains(identity) ? Refusal(.deviceBlocked, detail: "identity is blocked") : nil
    }
}
