import Crypto
import DeviceSimulation
import Foundation
import PortcullisClient
import Reactors

/// The client library's requests, on a reactor. It opens no WebSockets: `Play` does.
struct SimulatedTransport: Transport {
    let http: HTTPRequests

    func send(_ request: GateRequest) async throws -> GateResponse {
        guard let url = WebURL(request.url) else { throw GateError.configuration(.invalidURL) }
        let result = await http.exchange(
            request.method, url, headers: request.headers.fields, body: request.body.map(Array.init))
        switch result {
        case .success(let answer):
            var headers = HeaderFields()
            if let nonce = answer.nonce { headers.add("DPoP-Nonce", nonce) }
            if let authenticate = answer.authenticate { headers.add("WWW-Authenticate", authenticate) }
            return GateResponse(status: answer.status, headers: headers, body: Data(answer.body))
        case .failure(let failure): throw NetworkProblem.other(failure.reason)
        }
    }

    func openWebSocket(_ request: GateRequest) async throws -> any WebSocketChannel {
        throw NetworkProblem.other("no WebSockets here")
    }
}

/// App Attest of a simulated device, which is one key in its file.
actor SimulatedAttestation: AppAttestService {
    nonisolated let isSupported = true
    private var file: DeviceFile
    private let authority: SimulatedAuthority?

    /// - Parameter authority: attests the key; nil: a device that isn't registered can't be used.
    init(_ file: DeviceFile, by authority: SimulatedAuthority?) { (self.file, self.authority) = (file, authority) }

    func generateKey() async throws -> String { file.device.keyIDText }

    func attestKey(_ keyIdentifier: String, clientDataHash: Data) async throws -> Data {
        guard let authority else { throw AppAttestFailure.unsupported }
        let attestation = try file.device.attest(clientDataHash: Array(clientDataHash), by: authority, at: .now)
        try file.save()
        return Data(attestation)
    }

    func generateAssertion(_ keyIdentifier: String, clientDataHash: Data) async throws -> Data {
        Data(try file.assert(clientDataHash: Array(clientDataHash)))
    }
}

/// The key in a simulated device's file that signs proofs.
struct SimulatedDeviceKeys: DeviceKeyMaker {
    /// Of the private key.
    let rawRepresentation: Data

    func makeKey() throws -> (key: any DeviceKey, restoration: Data) {
        (try restoreKey(rawRepresentation), rawRepresentation)
    }

    /// - Parameter restoration: isn't read: the file may have been replaced since.
    func restoreKey(_ restoration: Data) throws -> any DeviceKey {
        try SoftwareDeviceKeys().restoreKey(rawRepresentation)
    }
}

/// A wrapping key in the authenticator's file, where a phone has it in its hardware.
struct SimulatedUnlock: LocalUnlock {
    let pin: String

    func makeKey() async throws -> Data { SymmetricKey(size: .bits256).withUnsafeBytes { Data($0) } }

    func secret(of restoration: Data, salt: Data) async throws -> Data {
        Data(HMAC<SHA256>.authenticationCode(for: salt, using: SymmetricKey(data: restoration)))
    }

    func pin(attemptsLeft: Int?) async throws -> String? { pin }
}

/// The library's secrets of a player with a device. A device that was kept counts as registered, also if another
/// command has registered it; if the gateway doesn't know it, it registers again.
struct SimulatedSecrets: SecretStore {
    let file: AccountFile
    /// nil: the device is new.
    let knownKey: String?

    func read(_ name: String) throws -> Data? {
        if let kept = try file.read(name) { return kept }
        return name.hasPrefix("app-attest-key.") ? knownKey.map { Data($0.utf8) } : nil
    }

    func write(_ name: String, _ value: Data) throws { try file.write(name, value) }

    func delete(_ name: String) throws { try file.delete(name) }
}
