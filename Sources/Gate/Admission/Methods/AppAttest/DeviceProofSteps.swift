import AppAttest
package import KeyStore

/// Whether a device that joins an account is what it says: key, signature, counter, as for an upgrade. Its challenge
/// was spent at this gateway before.
struct DeviceProofSteps: DecisionSteps {
    private let check: AssertionCheck
    private let assertion: [UInt8]
    private let clientDataHash: [UInt8]
    /// Of the challenge, in a fleet.
    private let use: FleetUse?
    private var signed: AssertionCheck.Signed?

    init(
        _ settings: AppAttestSettings, _ id: KeyID, _ assertion: [UInt8], over clientDataHash: [UInt8], _ use: FleetUse?
    ) {
        check = AssertionCheck(settings: settings, id: id)
        (self.assertion, self.clientDataHash, self.use) = (assertion, clientDataHash, use)
    }

    mutating func next(_ answer: StoreAnswer?, at moment: Moment) -> Step<Result<KeyID, RefusedRequest>> {
        do throws(AssertionFault) {
            switch (answer, signed) {
            case (nil, _): return .ask(check.question, of: check.settings.store)
            case (.standing(let standing, let counter), nil):
                let key = try check.accept(standing, above: counter)
                let signed = try check.verify(assertion, over: clientDataHash, by: key)
                self.signed = signed
                let counter = check.counterUse(of: signed, admitsLower: false, maximumRise: .max)
                let claim = AssertionClaim(key: check.id, use: counter, challenge: use)
                return .ask(.admit(claim), of: check.settings.store)
            case (.admit(let spending), let signed?):
                try check.conclude(spending, signed)
                return .decided(.success(check.id))
            default: wrongAnswer(answer)
            }
        } catch {
            return .decided(.failure(RefusedRequest(error.refusal)))
        }
    }
}

extension AppAttestSettings {
    /// Verifies a device's assertion over the challenge with which it joins an account.
    ///
    /// - Parameter registry: the part of the store that waits.
    package func verifyDevice(
        _ id: KeyID, _ assertion: [UInt8], over clientDataHash: [UInt8], spending challenge: SpentPasskeyChallenge,
        asking registry: any KeyRegistry, at moment: Moment
    ) async throws(RefusedRequest) -> KeyID {
        let use = challenge.mark.map { FleetUse(mark: $0.0, incarnation: $0.1) }
        let steps = DeviceProofSteps(self, id, assertion, over: clientDataHash, use)
        switch await Decision(steps).run(at: moment, asking: WaitingStore(keys: registry, accounts: nil)) {
        case .success(let outcome): return try outcome.get()
        case .failure(let error):
            throw RefusedRequest(
                Refusal(.storeUnavailable, detail: "\(error)", retryAfter: 1, failed: FailedCheck(.keyStore)))
        }
    }
}
