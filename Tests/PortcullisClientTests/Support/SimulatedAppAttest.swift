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
        var hashes: [Data] = []
        var attested: Set<String> = []
    }

    let keys: SimulatedKeyService
    let isSupported: Bool
    private let attestsOnce: Bool
    private let state = Awaited(State())

    /// - Parameter attestsOnce: a key that is attested is refused, as Apple does.
    init(_ apple: SimulatedApple, isSupported: Bool = true, attestsOnce: Bool = false) {
        keys = SimulatedKeyService(apple: apple)
        (self.isSupported, self.attestsOnce) = (isSupported, attestsOnce)
    }

    var calls: [Call] { state.current.calls }
    /// What keys were to be attested over, in order.
    var hashes: [Data] { state.current.hashes }

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
        state.update { $0.hashes.append(clientDataHash) }
        try await note(.attestKey)
        let isFirst = state.update { $0.attested.insert(keyIdentifier).inserted }
        guard isFirst || !attestsOnce else { throw AppAttestFailure.invalidKey }
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
