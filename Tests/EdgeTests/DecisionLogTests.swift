import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// Every decision is one line of the log and one of the audit, free of secrets.
    @Suite struct DecisionLogTests {
        @Test func `an admission is logged and audited with its request ID`() async throws {
            let apple = try SimulatedApple()
            let edge = try await Edge.start { $0.appAttest(apple) }
            let device = try await apple.enrolledDevice(at: edge.gateway)
            let handshake = try await device.handshake(at: edge.gateway)
            try await Edge.expectEcho(edge.gateway.open(handshake))
            let line = try await edge.gateway.auditLine(device.keyID, "admitted")
            #expect(line.contains("127.0.0.1") && line.contains("app_attest"), "\(line)")
        }

        @Test func `the request ID of a refusal is in the log and the audit log`() async throws {
            let apple = try SimulatedApple()
            let edge = try await Edge.start { $0.appAttest(apple) }
            let answer = try await edge.gateway.refusal(Handshake())
            let requestID = try #require(answer.requestID)
            let audit = try await edge.gateway.auditLine(requestID)
            #expect(audit.contains("app_auth_required") && audit.contains("127.0.0.1"), "\(audit)")
            try await edge.gateway.errorLine(requestID)
        }

        /// Standard output is only for the audit log and standard error only for the log, with every setting, so both
        /// are machine-readable.
        @Test func `with LOG_FORMAT json every line of both streams is JSON`() async throws {
            let apple = try SimulatedApple()
            let edge = try await Edge.start {
                $0.appAttest(apple).setting("LOG_FORMAT", "json").setting("LOG_LEVEL", "critical")
            }
            _ = try await edge.gateway.refusal(Handshake())
            let output = try await edge.gateway.stop()
            #expect(output.outputLines.count == 1 && output.errorLines.count == 1, "\(output)")
            for line in output.outputLines + output.errorLines {
                #expect((try? JSONSerialization.jsonObject(with: Data(line.utf8))) is [String: Any], "\(line)")
            }
        }

        /// As with a journal or a terminal, which show both streams.
        @Test func `if both streams go to one place each decision appears once`() async throws {
            let target = try await TargetServer.start(.echo)
            let apple = try SimulatedApple()
            let gateway = try await GatewayProcess.start(
                GatewaySettings(targetPort: target.port).appAttest(apple), streamsAreOne: true)
            let device = try await apple.enrolledDevice(at: gateway)
            try await Edge.expectEcho(gateway.open(device.handshake(at: gateway)))
            let requestID = try #require(try await gateway.refusal(Handshake()).requestID)
            #expect(try await gateway.get("/nothing").status == 404)
            let lines = try await gateway.stop().errorLines
            for words in [[requestID], ["upgrade", "admitted"], ["registration", "admitted"]] {
                let found = lines.filter { line in words.allSatisfy { line.contains($0) } }
                #expect(found.count == 1 && found.allSatisfy { $0.hasPrefix("{") }, "\(lines)")
            }
            // Lines that aren't in the audit log stay in the log.
            #expect(lines.contains { $0.contains("request refused") }, "\(lines)")
        }

        /// Neither challenge nor assertion nor attestation may be found in anything that the gateway writes.
        @Test func `no secret is logged`() async throws {
            let apple = try SimulatedApple()
            let edge = try await Edge.start { $0.appAttest(apple).setting("LOG_LEVEL", "debug") }
            let device = try await apple.enrolledDevice(at: edge.gateway)
            let nonce = try await edge.gateway.challenge()
            let headers = try device.assertionHeaders(nonce: nonce)
            try await Edge.expectEcho(edge.gateway.open(Handshake().adding(headers)), "a secret password")
            let wrong = try device.assertionHeaders(nonce: nonce)
            let refused = try await edge.gateway.refusal(Handshake().adding(wrong))
            let requestID = try #require(refused.requestID)
            try await edge.gateway.auditLine(requestID)
            let output = try await edge.gateway.stop()
            for secret in [
                nonce, headers["X-App-Assert-Data"] ?? "", wrong["X-App-Assert-Data"] ?? "", "a secret password",
            ] {
                try #require(!secret.isEmpty)
                #expect(!output.errorText.contains(secret) && !output.outputText.contains(secret))
            }
        }

        /// The target that a client requested, and the one that it got.
        @Test func `the log names targets`() async throws {
            let edge = try await Edge.start(.scripted)
            let socket = try await edge.gateway.open(Handshake().path("/?dialect=typed"))
            try await socket.send(text: #"{"type":"connect","target":"no\u001bwhere"}"#)
            _ = try await socket.nextTyped("error")
            let refused = try await edge.gateway.errorLine("target refused")
            #expect(refused.contains(#"no\\u{001B}where"#) || refused.contains(#"no\u{001B}where"#), "\(refused)")
            try await socket.connectTyped(#""target":"""#)
            try await socket.send(text: #"{"type":"disconnect"}"#)
            #expect(try await socket.closedByServer().code == 1000)
            try await edge.gateway.errorLine("session ended", "target=127.0.0.1:\(edge.target.port)")
        }

        /// Client input can't forge a line of the log.
        @Test func `text of a client can't forge a log line`() async throws {
            let apple = try SimulatedApple()
            let edge = try await Edge.start { $0.appAttest(apple).setting("LOG_LEVEL", "debug") }
            let forged = "\u{1B}[31mportcullis: listening on https://6.6.6.6:666"
            let handshake = Handshake().setting("Origin", forged).setting("Sec-WebSocket-Protocol", "x\u{1B}[2J")
                .adding("X-App-Assert-KeyId", forged).adding("User-Agent", forged)
            _ = try await edge.gateway.refusal(handshake)
            let output = try await edge.gateway.stop()
            #expect(!output.errorText.contains("\u{1B}") && !output.outputText.contains("\u{1B}"))
            #expect(!(output.errorLines + output.outputLines).contains { $0.hasPrefix("portcullis: ") })
        }
    }
}
