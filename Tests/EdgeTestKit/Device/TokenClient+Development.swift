import Foundation

/// Clients with a development token, and requests for HTTP services.
extension TokenClient {
    /// A client that never attests its key.
    package static func simulator(at gateway: GatewayProcess) throws -> TokenClient {
        try TokenClient(SimulatedApple(), at: gateway)
    }

    /// `POST /token` with a development token.
    package func requestToken(for developmentToken: String, nonce: String? = nil) async throws -> ReceivedAnswer {
        try await token(nonce: "", assertion: [0], serverNonce: nonce) { members in
            members["attestation"] = nil
            members["nonce"] = nil
            members["app"] = #"{"bundle_id":"com.example.simulator"}"#
            members["dev_token"] = "\"\(developmentToken)\""
        }
    }

    /// An access token for a development token.
    package func token(for developmentToken: String) async throws -> String {
        try Self.accessToken(in: await requestToken(for: developmentToken))
    }

    /// `Authorization` and `DPoP` of a request, each line with its end.
    package func headers(
        _ method: String, _ url: String, _ token: String, nonce: String? = nil
    ) throws -> String {
        try "Authorization: Bearer \(token)\r\nDPoP: \(proof(method, url, nonce: nonce))\r\n"
    }
}

extension GatewayProcess {
    /// Runs `portcullis dev-tokens` on the gateway's store.
    package func developmentTokens(_ arguments: String...) async throws -> ChildOutput {
        try await Self.run(["dev-tokens"] + arguments + ["--store", storePath])
    }

    /// Issues a development token.
    package func issueDevelopmentToken(_ options: String...) async throws -> (token: String, id: String) {
        let output = try await Self.run(
            ["dev-tokens", "issue", "--name", "edge tests"] + options + ["--store", storePath])
        guard output.ending == .exited(0), let token = output.outputLines.first,
            let id = output.errorText.firstMatch(of: /development token ([0-9a-f]{16})/)
        else { throw EdgeTestError("no development token: \(output)") }
        return (token, String(id.1))
    }

    /// The port of the internal listener, from its log line.
    package func internalPort() async throws -> Int {
        let line = try await errorLine("answering internal requests on http")
        guard let found = line.firstMatch(of: /requests on https?:\/\/[^ ]*:(\d+)/), let port = Int(found.1) else {
            throw EdgeTestError("no port in \(line)")
        }
        return port
    }

    /// Sends a request to the internal listener on a new connection, and awaits its answer.
    package func ask(_ text: String, tls: TLSChoice? = nil) async throws -> ReceivedAnswer {
        let connection = try await RawConnection.open(port: internalPort(), tls: tls)
        try await connection.send(text)
        return try await connection.answer()
    }
}
