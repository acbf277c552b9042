import Admission
import AppAttest
import DeviceSimulation
import Foundation
import KeyStore
import KeyStoreTestKit
import Testing
import WireText

/// A gate with its dependencies for one test: App Attest for two apps, and requests that it would admit.
struct Bench {
    static let app = appID("ABCDE12345.org.example.mud")
    static let otherApp = appID("ABCDE12345.org.example.chat")
    static let unknownApp = appID("ZZZZZ12345.org.example.mud")
    static let authority = Result {
        try SimulatedAuthority(at: Date(timeIntervalSince1970: Double(start.unixMilliseconds) / 1_000))
    }

    let registry = MemoryKeyRegistry()
    let challenges: Challenges
    let drain = DrainSwitch()
    let trustRoot: TrustRoot
    let policy = AttestationPolicy(apps: [Bench.app, Bench.otherApp], environments: [.production])
    /// The settings from which ``gate`` is made.
    var settings: GateSettings

    init(maximumSpent: Int = Challenges.defaultMaximumSpent, maximumSessions: Int = 1_000) throws {
        challenges = Challenges(epoch: epoch, maximumSpent: maximumSpent)
        trustRoot = try Bench.authority.get().trustRoot
        settings = GateSettings(
            drain: drain, leases: SessionLeases(maximum: maximumSessions), methods: GateSettings.unconfigured)
        settings.appAttest = appAttest(over: registry)
    }

    var gate: Gate { Gate(settings) }

    func appAttest(over registry: any ImmediateKeyRegistry) -> AppAttestSettings {
        AppAttestSettings(
            challenges: challenges, registry: registry,
            scope: AttestationScope(policy: policy, trustRoot: trustRoot), assertionVerifier: AssertionVerifier())
    }

    /// A device whose key is in the registry.
    func registeredDevice(app: AppID = Bench.app, changing change: (inout DeviceKey) -> Void = { _ in }) throws
        -> SimulatedDevice
    {
        let device = SimulatedDevice(app: app)
        var key = DeviceKey(
            id: try #require(KeyID(bytes: device.keyID)), publicKeyX963: device.publicKeyX963, app: app.description,
            environment: AttestationEnvironment.production.rawValue, trustRoot: trustRoot.fingerprint, counter: 0,
            receipt: [], validationCategory: nil, bundleVersion: nil, registeredAt: start.unixMilliseconds)
        change(&key)
        #expect(registry.enrol(key) == .enrolled)
        return device
    }

    func nonce(at moment: Moment = start) -> String { challenges.issue(at: moment).nonce }

    /// The fields that a registered device sends: a valid assertion over `nonce`, or over a new challenge.
    func assertion(by device: inout SimulatedDevice, over nonce: String? = nil, at moment: Moment = start) throws
        -> AssertionFields
    {
        let nonce = nonce ?? self.nonce(at: moment)
        let data = try device.assert(clientDataHash: clientDataHash(of: nonce))
        return AssertionFields(
            keyID: Data(device.keyID).base64EncodedString(), data: Data(data).base64EncodedString(), nonce: nonce)
    }

    /// A request without credentials that is valid otherwise.
    func request(_ assertion: AssertionFields = AssertionFields(), at moment: Moment = start) -> AdmissionRequest {
        AdmissionRequest(
            id: "r1", address: address("192.0.2.1"), moment: moment,
            handshake: UpgradeHandshake(),
            origin: nil, host: "gate.example:6200", isTLS: true,
            fields: CredentialFields(assertion: assertion), certificate: nil)
    }

    private static func appID(_ text: String) -> AppID {
        guard let app = AppID(text) else { fatalError("\(text) is no App ID") }
        return app
    }
}

/// SHA-256 over the challenge's bytes, computed like the guide's client.
func clientDataHash(of nonce: String) -> [UInt8] {
    sha256(bytesOf(hex: nonce))
}

extension AdmissionRequest {
    func with(_ change: (inout AdmissionRequest) -> Void) -> AdmissionRequest {
        var request = self
        change(&request)
        return request
    }
}

extension AdmissionDecision {
    var refusal: Refusal? {
        guard case .refused(let refusal) = self else { return nil }
        return refusal
    }

    var admitted: Admitted? {
        guard case .admitted(let admitted) = self else { return nil }
        return admitted
    }
}

extension ClientCertificate {
    static let good = ClientCertificate(
        isVerified: true, isResumedSession: false, sha256: [UInt8](repeating: 7, count: 32),
        subject: "CN=MudApp Debug Client", notAfter: start.unixMilliseconds + 3_600_000,
        chain: TrustedChains.good)

    func with(_ change: (inout ClientCertificate) -> Void) -> ClientCertificate {
        var certificate = self
        change(&certificate)
        return certificate
    }
}
