import DeviceSimulation
import Foundation
import Reactors

/// The simulated devices of one reactor's clients: assertions or access tokens on demand. Reactor thread only.
///
/// Counters must reach the gateway in order, so each device has only one upgrade by assertion under way; the next one
/// waits for the answer. With access tokens all upgrades of a device share one token, and none waits.
final class LoadDevices {
    typealias Headers = [(name: String, value: String)]
    typealias Done = (Result<Headers, ErrorKind>) -> Void

    struct Player {
        var passkey: SimulatedPasskey
        /// The user handle: base64url, as the gateway has sent it.
        let user: String
        /// Nil before the first sign-in.
        var refreshToken: String?
    }

    struct Slot {
        var device: SimulatedDevice
        var isBusy = false
        var waiting: [Done] = []
        var token: HeldToken?
        /// The server's newest, for proofs.
        var nonce: String?
        /// For the next request that is signed by itself.
        var challenge: String?
        /// The player's; nil before the sign-up.
        var player: Player?
    }

    var slots: [Slot]
    let requests: GatewayRequests
    /// The URL of upgrades, for proofs; nil: clients connect by assertion.
    private let tokenURL: String?
    /// Scheme, host and port.
    let origin: String
    let clients: Int
    /// Refreshes of each client, which takes its devices in turn.
    var turns: [Int: Int] = [:]
    /// For passkeys, which prove no model.
    lazy var vendor = try? SimulatedVendor(at: .now)

    init(_ devices: [SimulatedDevice], requests: GatewayRequests, _ settings: LoadSettings) {
        let edge = settings.edge
        slots = devices.map { Slot(device: $0) }
        self.requests = requests
        clients = settings.clients
        origin = "\(edge.isTLS ? "https" : "http")://\(edge.host):\(edge.port)"
        tokenURL = settings.usesTokens ? "\(edge.isTLS ? "wss" : "ws")://\(edge.host):\(edge.port)\(edge.path)" : nil
    }

    var devices: [SimulatedDevice] { slots.map(\.device) }

    /// Headers for an upgrade; call `release` when the upgrade has been answered.
    func headers(for client: Int, _ done: @escaping Done) {
        let index = client % slots.count
        if let tokenURL {
            withToken(index) { [self] result in done(result.flatMap { proofHeaders(index, "GET", tokenURL, $0) }) }
        } else if slots[index].isBusy {
            slots[index].waiting.append(done)
        } else {
            slots[index].isBusy = true
            makeHeaders(index, done)
        }
    }

    func release(_ client: Int) {
        guard tokenURL == nil else { return }
        let index = client % slots.count
        guard !slots[index].waiting.isEmpty else {
            slots[index].isBusy = false
            return
        }
        makeHeaders(index, slots[index].waiting.removeFirst())
    }

    private func makeHeaders(_ index: Int, _ done: @escaping Done) {
        requests.challenge { result in
            done(result.flatMap { self.headers(index, nonce: $0) })
        }
    }

    private func headers(_ index: Int, nonce: String) -> Result<Headers, ErrorKind> {
        guard let hash = try? ClientData.hash(ofNonce: nonce),
            let assertion = try? slots[index].device.assert(clientDataHash: hash)
        else { return .failure(.noChallenge) }
        return .success([
            ("X-App-Assert-KeyId", slots[index].device.keyIDText),
            ("X-App-Assert-Data", Data(assertion).base64EncodedString()), ("X-App-Assert-Nonce", nonce),
        ])
    }

    /// Has the authority attest each device and registers it; as many at once as there are connections.
    ///
    /// - Parameter done: receives the number of failures by kind.
    func register(by authority: SimulatedAuthority, _ done: @escaping (ErrorCounts) -> Void) {
        var errors = ErrorCounts()
        var left = slots.count
        for slot in slots {
            register(slot.device, by: authority) { failure in
                if let failure { errors.count(failure) }
                left -= 1
                if left == 0 { done(errors) }
            }
        }
    }

    private func register(
        _ device: SimulatedDevice, by authority: SimulatedAuthority, _ done: @escaping (ErrorKind?) -> Void
    ) {
        requests.challenge { [requests] result in
            switch result {
            case .failure(let kind): done(kind)
            case .success(let nonce):
                guard let hash = try? ClientData.hash(ofNonce: nonce),
                    let attestation = try? device.attest(clientDataHash: hash, by: authority, at: .now)
                else { return done(.notRegistered) }
                requests.register(keyID: device.keyIDText, attestation: attestation, nonce: nonce, done)
            }
        }
    }
}
