extension GatewayProcess {
    /// The default for tests without special needs: the certificate isn't verified, because that would need the CA.
    private var usualTLS: TLSChoice? { isTLS ? TLSChoice() : nil }

    package func connect(_ tls: TLSChoice? = nil, receiveBuffer: Int? = nil) async throws -> RawConnection {
        try await RawConnection.open(port: port, tls: tls ?? usualTLS, receiveBuffer: receiveBuffer)
    }

    /// Sends any text on a new connection and awaits one answer.
    package func request(_ text: String, tls: TLSChoice? = nil) async throws -> ReceivedAnswer {
        let connection = try await connect(tls)
        try await connection.send(text)
        return try await connection.answer()
    }

    package func get(_ path: String) async throws -> ReceivedAnswer {
        try await request("GET \(path) HTTP/1.1\r\nHost: localhost\r\n\r\n")
    }

    package func post(_ path: String, _ body: String, contentType: String = "application/json") async throws
        -> ReceivedAnswer
    {
        try await request(Self.post(path, body, contentType: contentType))
    }

    package static func post(_ path: String, _ body: String, contentType: String = "application/json") -> String {
        "POST \(path) HTTP/1.1\r\nHost: localhost\r\nContent-Type: \(contentType)\r\n"
            + "Content-Length: \(body.utf8.count)\r\n\r\n" + body
    }

    /// A fresh challenge, in hexadecimal.
    package func challenge() async throws -> String {
        let answer = try await get("/attest/challenge")
        guard answer.status == 200, let nonce = answer.strings?["nonce"] else {
            throw EdgeTestError("no challenge: \(answer)")
        }
        return nonce
    }

    /// Requests an upgrade on a new connection.
    package func attempt(
        _ handshake: Handshake = Handshake(), tls: TLSChoice? = nil, receiveBuffer: Int? = nil
    ) async throws -> TestWebSocket.Outcome {
        try await TestWebSocket.attempt(handshake, on: connect(tls, receiveBuffer: receiveBuffer))
    }

    /// Opens a WebSocket, which must be admitted.
    package func open(
        _ handshake: Handshake = Handshake(), tls: TLSChoice? = nil, receiveBuffer: Int? = nil
    ) async throws -> TestWebSocket {
        switch try await attempt(handshake, tls: tls, receiveBuffer: receiveBuffer) {
        case .open(let socket): return socket
        case .refused(let answer, _):
            let line = try? await auditLine(answer.requestID ?? "-", within: .seconds(2))
            throw EdgeTestError("the upgrade was refused: \(answer) \(line ?? "")")
        }
    }

    /// Requests an upgrade that must be refused, and returns the refusal; the connection must end after it.
    package func refusal(_ handshake: Handshake, tls: TLSChoice? = nil) async throws -> ReceivedAnswer {
        switch try await attempt(handshake, tls: tls) {
        case .open: throw EdgeTestError("the upgrade was admitted")
        case .refused(let answer, _): return answer
        }
    }
}

extension GatewayProcess {
    /// Waits for an audit line, on standard output, that contains all of `words`.
    @discardableResult
    package func auditLine(_ words: String..., within limit: Duration = .seconds(20)) async throws -> String {
        try await child.output.wait(for: "an audit line with \(words)", within: limit) { output in
            output.outputLines.first { line in words.allSatisfy { line.contains($0) } }
        }
    }

    /// Waits for a log line, on standard error, that contains all of `words`.
    @discardableResult
    package func errorLine(_ words: String..., within limit: Duration = .seconds(20)) async throws -> String {
        try await child.output.wait(for: "a log line with \(words)", within: limit) { output in
            output.errorLines.first { line in words.allSatisfy { line.contains($0) } }
        }
    }

    /// Runs `portcullis keys` on the gateway's store.
    package func keys(_ arguments: String...) async throws -> ChildOutput {
        try await Self.run(["keys"] + arguments + ["--store", storePath])
    }
}
