/// Refuses what the operator has blocked: addresses, and every identity that a request claims, before any of it is checked or used up. A client
/// that claims a blocked identity without being it is refused too.
///
/// Whose a ticket is shows only when it is spent: the gate looks at every verified identity once more.
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

    func refusal(of address: ClientAddress) -> Refusal? {
        list.contains(address) ? Refusal(.deviceBlocked, detail: "address is blocked") : nil
    }

    func refusal(of identity: Identity) -> Refusal? {
        list.contains(identity) ? Refusal(.deviceBlocked, detail: "identity is blocked") : nil
    }
}
