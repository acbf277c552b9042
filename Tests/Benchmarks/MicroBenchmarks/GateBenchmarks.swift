import AppAttest
import Benchmark
import Crypto
import FoundationEssentials
import Glibc
import KeyStore
import KeyStoreSQLite
import WireText

@testable import Admission

/// The assertion check as the gate does it, with SQLite below: spend the challenge, look the key up, verify, commit the
/// counter.
///
/// Between rounds of a thousand the write-ahead log is folded into the file, as the gateway does every few seconds. The
/// first commit behind that begins the log anew, for which SQLite waits for the disk: it is one of a round.
func gateBenchmarks() {
    let stage = RegistryStage()
    measure("gate: whole assertion check, counter committed", times: .kilo) { rounds in
        try stage.registry.checkpoint()
        return (0..<rounds).map { _ in stage.request() }
    } _: { requests, run in
        guard case .verified = try stage.method.presented(in: requests[run])?.verify(requests[run]) else {
            fatalError("the assertion is good")
        }
    }
    measure("gate: commit of a counter alone", times: .kilo) { _ in
        try stage.registry.checkpoint()
    } _: { _, _ in
        guard try stage.commitNext() == .advanced else { fatalError("the counter is higher") }
    }
    measure("gate: look a key up", times: .kilo) { _ in
    } _: { _, _ in
        blackHole(try stage.registry.standing(of: stage.otherKey))
    }
}

/// A store in a folder of its own, which goes when the process does, and a device that is registered in it.
private final class RegistryStage {
    let registry: SQLiteKeyDatabase
    let method: AppAttestMethod
    /// For commits besides those of the check.
    let otherKey: KeyID

    private let device = DeviceStage()
    private let challenges = Challenges(epoch: MonotonicTime(nanoseconds: 0))
    private var now: UInt64 = 1_000_000_000
    private var counter: UInt32 = 0
    nonisolated(unsafe) private static var folders: [URL] = []

    init() {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("portcullis-\(UUID().uuidString)")
        do {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
            if Self.folders.isEmpty { atexit { RegistryStage.removeFolders() } }
            Self.folders.append(folder)
            registry = try SQLiteKeyDatabase(path: folder.appendingPathComponent("keys.sqlite").path)
            let key = device.registeredKey
            _ = try registry.enrol(key)
            let other = DeviceStage().registeredKey
            _ = try registry.enrol(other)
            otherKey = other.id
        } catch { fatalError("no store: \(error)") }
        method = AppAttestMethod(
            AppAttestSettings(
                challenges: challenges, registry: registry,
                scope: AttestationScope(policy: device.policy, trustRoot: device.trustRoot),
                assertionVerifier: AssertionVerifier()))
    }

    private static func removeFolders() {
        for folder in folders { try? FileManager.default.removeItem(at: folder) }
    }

    /// With a challenge and an assertion of its own; a few milliseconds after the one before.
    func request() -> AdmissionRequest {
        now += 5_000_000
        let moment = Moment(
            monotonic: MonotonicTime(nanoseconds: now), unixMilliseconds: 1_777_593_600_000 + Int64(now / 1_000_000))
        let nonce = challenges.issue(at: moment).nonce
        let hash = Array(SHA256.hash(data: Hexadecimal.decode(nonce, count: 32) ?? []))
        let values = [
            Data(device.keyID).base64EncodedString(), Data(device.assertion(over: hash)).base64EncodedString(), nonce,
        ]
        let headers = Dictionary(uniqueKeysWithValues: zip(AssertionFields.headers, values))
        let fields = CredentialFields(method.fields, header: { headers[$0] }, parameter: { _ in nil })
        return AdmissionRequest(
            id: "r1", address: IPAddress(ipv4: (192, 0, 2, 1)), moment: moment,
            handshake: UpgradeHandshake(),
            origin: nil, host: "gate.example:6200", isTLS: true, fields: fields, certificate: nil)
    }

    func commitNext() throws(KeyRegistryError) -> CounterAdvance {
        counter += 1
        return try registry.advanceCounter(of: otherKey, to: counter, at: 1_777_593_600_000)
    }
}
