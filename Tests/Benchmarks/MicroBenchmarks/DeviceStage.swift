import AppAttest
import Crypto
import DeviceSimulation
import FoundationEssentials
import KeyStore

/// A simulated authority and a device that it attests.
final class DeviceStage {
    static let time = Date(timeIntervalSince1970: 1_777_593_600)
    static let clientDataHash = [UInt8](repeating: 0xC5, count: 32)
    static let app: AppID = {
        guard let app = AppID("A1B2C3D4E5.com.example.game") else { fatalError("it is an App ID") }
        return app
    }()

    private let authority: SimulatedAuthority
    private var device = SimulatedDevice(app: DeviceStage.app)
    let policy = AttestationPolicy(
        apps: [DeviceStage.app], environments: [.production], validationCategories: nil)

    init() {
        do { authority = try SimulatedAuthority(at: Self.time) } catch { fatalError("no authority: \(error)") }
    }

    var keyID: [UInt8] { device.keyID }
    var publicKeyX963: [UInt8] { device.publicKeyX963 }
    var trustRoot: TrustRoot { authority.trustRoot }
    var attestationVerifier: AttestationVerifier { AttestationVerifier(trustRoot: trustRoot, policy: policy) }

    func attestation(over clientDataHash: [UInt8]) -> [UInt8] {
        do {
            return try device.attest(clientDataHash: clientDataHash, by: authority, at: Self.time)
        } catch { fatalError("no attestation: \(error)") }
    }

    /// Each has the next counter.
    func assertion(over clientDataHash: [UInt8]) -> [UInt8] {
        do { return try device.assert(clientDataHash: clientDataHash) } catch { fatalError("no assertion: \(error)") }
    }

    /// As a registration leaves it behind, with a receipt of the usual size.
    var registeredKey: DeviceKey {
        guard let id = KeyID(bytes: keyID) else { fatalError("a key's identifier has 32 bytes") }
        return DeviceKey(
            id: id, publicKeyX963: publicKeyX963, app: Self.app.description,
            environment: AttestationEnvironment.production.rawValue, trustRoot: trustRoot.fingerprint, counter: 0,
            receipt: [UInt8](repeating: 9, count: 5_000), validationCategory: nil, bundleVersion: nil,
            registeredAt: 1_777_593_600_000)
    }
}
