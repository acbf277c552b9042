import ArgumentParser
import Foundation
import Reactors

/// The challenge and the registration of an app that connects by assertion.
struct GatewayClient {
    private let http: HTTPRequests
    private let gateway: WebURL

    init(on reactor: Reactor, options: DeviceCommand.GatewayOptions) throws {
        http = try options.requests(on: reactor)
        gateway = try options.url()
    }

    func challenge() async throws -> String {
        let body = try await request("GET", "/attest/challenge", body: nil)
        let fields = try JSONDecoder().decode([String: String].self, from: body)
        guard let nonce = fields["nonce"] else { throw SimOutput.failure("the gateway's challenge has no nonce.") }
        return nonce
    }

    func register(keyID: String, attestation: [UInt8], nonce: String) async throws {
        let fields = ["keyId": keyID, "attestation": Data(attestation).base64EncodedString(), "nonce": nonce]
        _ = try await request("POST", "/attest/register", body: [UInt8](JSONEncoder().encode(fields)))
    }

    private func request(_ method: String, _ path: String, body: [UInt8]?) async throws -> Data {
        guard let url = gateway.appending(path) else { throw SimOutput.failure("--gateway is no URL.") }
        let answer = try await http.send(
            method, url, headers: body == nil ? [] : [("Content-Type", "application/json")], body: body)
        guard answer.status == 200 else { throw GatewayRefusal.failure(status: answer.status, body: answer.body) }
        return Data(answer.body)
    }
}
