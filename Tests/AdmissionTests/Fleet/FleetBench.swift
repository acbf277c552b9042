import AppAttest
import DeviceSimulation
import Foundation
import KeyStore
import KeyStoreTestKit
import Testing

@testable import Admission

/// Gateways that share one store, and requests that each would admit.
struct FleetBench {
    struct Gateway {
        let identity: FleetIdentity
        let fleet: Fleet
        let challenges: Challenges
        var settings: GateSettings
        var gate: Gate { Gate(settings) }

        func nonce(at moment: Moment = start) -> String { challenges.issue(at: moment).nonce }
    }

    static let secrets = secrets([1: start.unixMilliseconds - 86_400_000])

    let bench: Bench
    let store = SharedStore()
    var gateways: [Gateway] = []

    /// Verifies signatures.
    private let compute: Fleet.Compute

    /// - Parameter offsets: of each gateway's time, in milliseconds.
    init(
        offsets: [Int64] = [0, 0, 0, 0], secrets: FleetSecrets = Self.secrets,
        compute: @escaping Fleet.Compute = { work in
            work()
            return true
        }
    ) throws {
        bench = try Bench()
        self.compute = compute
        for offset in offsets { addGateway(offset: offset, secrets: secrets) }
    }

    mutating func addGateway(offset: Int64 = 0, secrets: FleetSecrets = Self.secrets) {
        let clock = FleetClock(.sample(offset: offset))
        let identity = FleetIdentity(
            SharedStore.incarnation(1), began: start.unixMilliseconds - 3_600_000, secrets: secrets, clock: clock,
            at: start.monotonic)
        let fleet = Fleet(registry: store, identity: identity, compute: compute)
        let challenges = Challenges(epoch: epoch, fleet: identity)
        var settings = GateSettings(
            drain: DrainSwitch(), leases: SessionLeases(maximum: 1_000),
            limits: UpgradeLimits(failedUpgradesPerMinute: 100_000, verificationsPerSecond: 100_000),
            methods: GateSettings.unconfigured)
        settings.appAttest = AppAttestSettings(
            challenges: challenges, devices: .shared(fleet),
            scope: AttestationScope(policy: bench.policy, trustRoot: bench.trustRoot),
            assertionVerifier: AssertionVerifier())
        gateways.append(Gateway(identity: identity, fleet: fleet, challenges: challenges, settings: settings))
    }

    /// - Parameter starts: of each generation, by its number.
    static func secrets(_ starts: [UInt32: Int64]) -> FleetSecrets {
        let generations = starts.sorted { $0.key < $1.key }.compactMap {
            FleetSecrets.Generation(
                number: $0.key, secret: [UInt8](repeating: UInt8(truncatingIfNeeded: $0.key), count: 32),
                issuesFrom: $0.value)
        }
        guard let secrets = FleetSecrets(generations) else { fatalError("no such generations") }
        return secrets
    }

    func registeredDevice() throws -> SimulatedDevice {
        let device = try bench.registeredDevice()
        let id = try #require(KeyID(bytes: device.keyID))
        #expect(store.enrol(try #require(bench.registry.key(id))) == .enrolled)
        return device
    }

    /// An assertion over a challenge of the gateway with this number.
    func request(
        by device: inout SimulatedDevice, challengeOf number: Int = 0, at moment: Moment = start
    ) throws -> AdmissionRequest {
        let nonce = gateways[number].nonce(at: moment)
        return bench.request(try bench.assertion(by: &device, over: nonce), at: moment)
    }

    /// The decision of the gateway with this number, from a store that answers at once.
    func decide(_ request: AdmissionRequest, by number: Int) throws -> AdmissionDecision {
        try #require(gateways[number].gate.evaluate(request).awaited)
    }
}

extension FleetClock.Measurement {
    static func sample(offset: Int64) -> FleetClock.Measurement {
        FleetClock.Measurement(
            asked: start.monotonic, answered: start.monotonic, storeTime: start.unixMilliseconds + offset)
    }
}

extension AdmissionDecision {
    /// The decision itself, or the one that it leads to; nil while that isn't there.
    var awaited: AdmissionDecision? {
        guard case .later(let later) = self else { return self }
        let decided = Gathered<AdmissionDecision>()
        later.whenDecided { decided.add($0) }
        return decided.all.first
    }
}
