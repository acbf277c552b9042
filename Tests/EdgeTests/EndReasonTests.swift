import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// The log and the audit log use the same word for the reason why a session ended.
    @Suite struct EndReasonTests {
        private func expectEnd(_ reason: String, at gateway: GatewayProcess) async throws {
            try await gateway.errorLine("session ended", "reason=\(reason)")
            let line = try await gateway.auditLine("\"session\"", "\"\(reason)\"")
            #expect(line.contains("\"ended\"") && line.contains("127.0.0.1"), "\(line)")
        }

        @Test func `a client's Close frame and its loss are logged with different reasons`() async throws {
            let edge = try await Edge.start()
            let first = try await edge.gateway.open()
            try await first.close(1000)
            try await expectEnd("client_closed", at: edge.gateway)
            let second = try await edge.gateway.open(Handshake().offering("telnet"))
            await second.connection.reset()
            try await expectEnd("client_lost", at: edge.gateway)
            let third = try await edge.gateway.open(Handshake().offering("telnet"))
            third.connection.post([0xF2, 0x80, 1, 2, 3, 4])
            #expect(try await third.closedByServer().code == 1002)
            try await expectEnd("client_protocol_error", at: edge.gateway)
        }

        @Test func `a broken MCCP2 stream is logged as the target's fault`() async throws {
            let edge = try await Edge.start(.scripted)
            let socket = try await edge.gateway.open(Handshake().offering("terminal.mudstandards.org"))
            let target = try await edge.target.connection()
            try await target.send([255, 251, 86])
            _ = try await target.receive(upTo: [255, 253, 86])
            try await target.send([255, 250, 86, 255, 240] + Array("this is no zlib stream".utf8))
            #expect(try await socket.closedByServer().reason == "target sent a broken stream")
            try await expectEnd("target_broken_stream", at: edge.gateway)
            for line in [
                try await edge.gateway.errorLine("session ended"),
                try await edge.gateway.auditLine("\"target_broken_stream\""),
            ] { #expect(line.contains("mccp=off") && line.contains("TARGET_MCCP=off"), "\(line)") }
        }

        @Test func `an unreachable target and a failed TLS handshake are logged with different reasons`() async throws {
            let plain = try await TargetServer.start(.scripted)
            let certificates = try await DevCertificates.shared()
            let gateway = try await GatewayProcess.start(
                GatewaySettings(targetPort: plain.port).setting("MUD_TLS_MODE", "required")
                    .setting("MUD_CA_PATH", certificates.serverCA).setting("TN_HOST", "localhost"))
            let socket = try await gateway.open(Handshake().path("/?dialect=typed"))
            try await socket.send(text: #"{"type":"connect","target":""}"#)
            let speaker = try await plain.connection()
            try await speaker.send("220 this is no TLS\r\n")
            #expect(try await socket.nextTyped("error")["message"] == "The secure connection to the MUD server failed")
            let other = try await gateway.open(Handshake().offering("terminal.mudstandards.org"))
            let second = try await plain.connection(1)
            try await second.send("220 this is no TLS\r\n")
            let close = try await other.closedByServer()
            #expect(close.code == 1014 && close.reason == "TLS with the target failed")
            try await expectEnd("target_not_secured", at: gateway)
        }
    }
}
