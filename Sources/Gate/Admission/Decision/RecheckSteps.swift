import KeyStore
package import WireText

/// The decision whether a client that was admitted earlier would be admitted now by the same credential: block list,
/// shared secret, then the steps of the method that verified it.
struct RecheckSteps: DecisionSteps {
    private let gate: Gate
    private let principal: Principal
    private let address: IPAddress
    private var proof: Inquiry<Refusal?>?

    init(_ gate: Gate, _ principal: Principal, from address: IPAddress) {
        self.gate = gate
        self.principal = principal
        self.address = address
    }

    mutating func next(_ answer: StoreAnswer?, at moment: Moment) throws(KeyRegistryError) -> Step<Refusal?> {
        if proof == nil {
            if let refusal = gate.refuseBlocked(address) ?? gate.refuseBlocked(principal) {
                return .decided(refusal)
            }
            proof = gate.proof.recheck(principal, at: moment)
        }
        guard let step = try proof?.next(answer, at: moment) else { wrongAnswer(answer) }
        return step
    }
}

extension Gate {
    /// Checks whether a client that was admitted earlier would be admitted now by the same credential. Called before
    /// that admission is used for anything new. Existing sessions continue whatever the result is.
    ///
    /// For a caller that can't wait: of a store that several gateways share it knows what
    /// ``prepareRecheck(of:at:then:)`` has fetched.
    ///
    /// - Returns: `nil` if the proof is still valid. If this can't be determined, the client is refused.
    package func recheck(_ principal: Principal, from address: IPAddress, at moment: Moment) -> Refusal? {
        refusal(Decision(RecheckSteps(self, principal, from: address)).runWithoutWaiting(at: moment))
    }

    private func refusal(_ outcome: Result<Refusal?, KeyRegistryError>) -> Refusal? {
        switch outcome {
        case .success(let refusal): refusal
        case .failure(let error): unavailable(error)
        }
    }

    /// Fetches what ``recheck(_:from:at:)`` needs: without it the store may be unavailable to it. `then` is called
    /// once, on any thread.
    package func prepareRecheck(of principal: Principal, at moment: Moment, then: @escaping @Sendable () -> Void) {
        Decision(proof.recheck(principal, at: moment)).run(at: moment).whenDecided { _ in then() }
    }
}
