import Foundation
import FoundationNetworking

/// The HTTP half of what an app does, as the client guide has it.
struct GatewayClient {
    private let base: URL
    private let session: URLSession

    /// - Parameter caPath: trusted beside the system's CAs; must be set before the process' first request.
    init(base: URL, caPath: String?) {
        self.base = base
        // swift-corelibs-foundation reads the CA bundle's path from here.
        if let caPath { setenv("URLSessionCertificateAuthorityInfoFile", caPath, 1) }
        session = URLSession(configuration: .ephemeral)
    }

    func challenge() async throws -> String {
        let (data, response) = try await session.data(from: base.appendingPathComponent("/attest/challenge"))
        try expect200(response, data)
        let fields = try JSONDecoder().decode([String: String].self, from: data)
        guard let nonce = fields["nonce"] else { throw Console.failure("the gateway's challenge has no nonce.") }
        return nonce
    }

    func register(keyID: String, attestation: Data, nonce: String) async throws {
        var request = URLRequest(url: base.appendingPathComponent("/attest/register"))
        request.httpMethod = "POST"
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        request.httpBody = try JSONEncoder().encode([
            "keyId": keyID, "attestation": attestation.base64EncodedString(), "nonce": nonce,
        ])
        let (data, response) = try await session.data(for: request)
        try expect200(response, data)
    }

    private func expect200(_ response: URLResponse, _ data: Data) throws {
        let status = (response as? HTTPURLResponse)?.statusCode ?? 0
        guard status == 200 else {
            throw Console.failure("the gateway answered \(status): \(String(decoding: data.prefix(500), as: UTF8.self))")
        }
    }
}
