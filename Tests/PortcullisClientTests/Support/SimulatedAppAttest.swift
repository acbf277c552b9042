import EdgeTestKit
import Foundation
import PortcullisClient

/// App Attest with simulated devices in Apple's place, and with Apple's failures where a test wants them.
final class SimulatedAppAttest: AppAttestService {
    enum Call: String, Sendable { case generateKey, attestKey, generateAssertion }

    /// What happens instead of an answer.
    enum Fault: Sendable {
        case failure(AppAttestFailure)
        /// It never answers, as Apple's calls may do.
        case hang
    }

    private struct State: Sendable {
        var calls: [Call] = []
        var faults: [Call: [Fault]] = [:]
    }

    let keys: SimulatedKeyService
    let isSupported: Bool
    private let state = Awaited(State())

    init(_ apple: SimulatedApple, isSupported: Bool = true) {
        keys = SimulatedKeyService(apple: apple)
        self.isSupported = isSupported
    }

    var calls: [Call] { state.current.calls }

    /// The next calls of this kind fail like this, one after the other.
    func fail(_ call: Call, _ faults: Fault...) { state.update { $0.faults[call, default: []] += faults } }

    private func note(_ call: Call) async throws {
        let fault = state.update { state -> Fault? in
            state.calls.append(call)
            guard state.faults[call]?.isEmpty == false else { return nil }
            return state.faults[call]?.removeFirst()
        }
        switch fault {
        case .failure(let failure): throw failure
        case .hang:
            await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
        case nil: break
        }
    }

    func generateKey() async throws -> String {
        try await note(.generateKey)
        return try await keys.generateKey()
    }

    func attestKey(_ keyIdentifier: String, clientDataHash: Data) async throws -> Data {
        try await note(.attestKey)
        return try await keys.attestKey(keyIdentifier, clientDataHash: clientDataHash)
    }

    func generateAssertion(_ keyIdentifier: String, clientDataHash: Data) async throws -> Data {
        try await note(.generateAssertion)
        do { return try await keys.generateAssertion(keyIdentifier, clientDataHash: clientDataHash) } catch {
            // A key of another installation.
            throw AppAttestFailure.invalidKey
        }
    }
}
