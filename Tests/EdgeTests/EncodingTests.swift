import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// Targets that don't write UTF-8, by setting, by route and by CHARSET.
    @Suite struct EncodingTests {
        private typealias T = TelnetBytes
        private static let terminal = Handshake().offering("terminal.mudstandards.org")

        typealias Sample = (name: String, pieces: [[UInt8]], text: String)

        private static let samples: [Sample] = [
            ("gbk", [[0xD6], [0xD0, 0xCE], [0xC4]], "中文"), ("Shift_JIS", [[0x93], [0xFA, 0x96, 0x7B]], "日本"),
            ("windows-1251", [[0xE4, 0xE0, 0xFF], [0xFF]], "дая"), ("euc-kr", [[0xC7, 0xD1, 0xB1], [0xDB]], "한글"),
        ]

        /// Split inside characters, and with я of windows-1251, which is telnet's IAC byte.
        @Test(arguments: samples) func `text is read and written in the encoding of the setting`(sample: Sample)
            async throws
        {
            let (name, pieces, text) = sample
            let edge = try await Edge.start(.scripted) { $0.setting("TN_ENCODING", name) }
            let socket = try await edge.gateway.open(Self.terminal)
            let target = try await edge.target.connection()
            for piece in pieces { try await target.send(piece) }
            #expect(try await socket.receiveText(text.utf8.count) == text)
            try await socket.send(binary: Array("\(text)☃\n".utf8))
            _ = try await target.receive(upTo: pieces.flatMap(\.self) + Array("?\r\n".utf8))
        }

        @Test func `the target's offer decides the encoding and a route may have its own`() async throws {
            let target = try await TargetServer.start(.scripted)
            let gateway = try await GatewayProcess.start(
                GatewaySettings(targetPort: target.port)
                    .setting("MUD_ROUTES", "korea=127.0.0.1:\(target.port),encoding=ks_c_5601-1987"))
            let socket = try await gateway.open(Self.terminal)
            let first = try await target.connection()
            try await first.send([T.iac, T.do, T.charset])
            _ = try await first.receive(upTo: [T.iac, T.will, T.charset])
            try await first.send(T.subnegotiation(T.charset, [1] + Array(";X-NONE;Big5;GBK".utf8)))
            _ = try await first.receive(upTo: T.subnegotiation(T.charset, [2] + Array("Big5".utf8)))
            try await first.send([0xA4, 0xA4, 0xA4, 0xE5])
            #expect(try await socket.receiveText(6) == "中文")
            let routed = try await gateway.open(Self.terminal.path("/mud/korea"))
            let second = try await target.connection(1)
            try await second.send([0xC7, 0xD1])
            #expect(try await routed.receiveText(3) == "한")
        }
    }
}
