import ArgumentParser
import Foundation
import Reactors

/// The HTTP half of an app's work: the challenge and the registration.
struct GatewayClient {
    private let reactor: Reactor
    private let options: DeviceCommand.GatewayOptions
    private let settings: EdgeClientSettings

    init(on reactor: Reactor, options: DeviceCommand.GatewayOptions) throws {
        self.reactor = reactor
        self.options = options
        settings = try options.settings()
    }

    func challenge() async throws -> String {
        let body = try await request("/attest/challenge", body: nil)
        let fields = try JSONDecoder().decode([String: String].self, from: body)
        guard let nonce = fields["nonce"] else { throw SimOutput.failure("the gateway's challenge has no nonce.") }
        return nonce
    }

    func register(keyID: String, attestation: [UInt8], nonce: String) async throws {
        let fields = ["keyId": keyID, "attestation": Data(attestation).base64EncodedString(), "nonce": nonce]
        _ = try await request("/attest/register", body: [UInt8](JSONEncoder().encode(fields)))
    }

    private func request(_ path: String, body: [UInt8]?) async throws -> Data {
        let result = await withCheckedContinuation { continuation in
            reactor.submit { [reactor, settings] in
                do throws(ReactorError) {
                    try EdgeClient(on: reactor, settings: settings)
                        .request(path: path, body: body) { continuation.resume(returning: $0) }
                } catch {
                    continuation.resume(returning: .failure(HTTPClientFailure(reason: "\(error)")))
                }
            }
        }
        switch result {
        case .failure(let failure): throw options.unreachable(failure.reason)
        case .success(let answer) where answer.status == 200: return Data(answer.body)
        case .success(let answer):
            throw GatewayRefusal.failure(status: answer.status, body: answer.body)
        }
    }
}
