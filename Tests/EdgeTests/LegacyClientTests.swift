import Compression
import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// Browser clients of mud-web-proxy, which read telnet commands in the stream: the newer ones decline compression
    /// and get GMCP and MSDP as JSON, the older ones get all in the compressed stream.
    @Suite struct LegacyClientTests {
        private typealias T = TelnetBytes

        private static let msdp: UInt8 = 69

        private func start(_ connect: String) async throws -> (LegacyBrowser, TargetConnection, Edge) {
            let edge = try await Edge.start(.scripted) { $0.setting("DIALECT_WAIT_MS", 60_000) }
            let socket = try await edge.gateway.open()
            let target = try await edge.target.connection()
            try await socket.send(text: connect)
            return (LegacyBrowser(socket), target, edge)
        }

        private static let connects = [
            #"{"connect":1,"utf8":1,"mccp":0,"debug":0,"ttype":"xterm-256color","name":"Guest","mxp":1,"host":"mud.example","port":4000}"#,
            #"{"host":"mud.example","port":4000,"utf8":1,"mxp":1,"connect":1,"mccp":1,"client":"webmud","ttype":"ansi","name":"Guest"}"#,
        ]

        @Test(arguments: connects) func `a password isn't shown: the client hears of WILL ECHO and WONT ECHO`(
            connect: String
        ) async throws {
            let (client, target, edge) = try await start(connect)
            var browser = client
            try await target.send(Array("Name: ".utf8))
            try await browser.hear { $0.text == "Name: " }
            #expect(!browser.hidesInput)
            try await target.send(Array("Password: ".utf8) + [T.iac, T.will, T.echo])
            try await browser.hear { $0.hidesInput }
            #expect(browser.text == "Name: Password: ")
            _ = try await target.receive(upTo: [T.iac, T.do, T.echo])
            try await browser.socket.send(text: "secret\r\n")
            #expect(try await target.receive(upTo: "\n") == Array("secret\r\n".utf8))
            try await target.send([T.iac, T.wont, T.echo] + Array("\r\nWelcome\r\n".utf8))
            try await browser.hear { $0.text.hasSuffix("Welcome\r\n") }
            #expect(!browser.hidesInput)
            _ = try await target.receive(upTo: [T.iac, T.dont, T.echo])
            try await edge.expectHealthy()
        }

        @Test(arguments: connects) func `GMCP and MSDP reach the client, between the right pieces of text`(
            connect: String
        ) async throws {
            let (client, target, edge) = try await start(connect)
            var browser = client
            try await target.send([T.iac, T.will, T.gmcp, T.iac, T.will, Self.msdp])
            _ = try await target.receive(upTo: [T.iac, T.do, Self.msdp])
            let vitals = T.gmcp(#"Char.Vitals {"hp":7,"name":"Zoë"}"#)
            let health = T.subnegotiation(Self.msdp, [1] + Array("HEALTH".utf8) + [2] + Array("100".utf8))
            try await target.send(Array("Hall ".utf8) + vitals + health + Array("Exit".utf8))
            try await browser.hear { $0.text == "Hall Exit" }
            #expect(browser.heard == ["Hall ", #"Char.Vitals {"hp":7,"name":"Zoë"}"#, "HEALTH=100", "Exit"])
            try await browser.socket.send(text: #"{"gmcp":"Core.Ping"}"#)
            _ = try await target.receive(upTo: T.gmcp("Core.Ping"))
            try await browser.socket.send(text: #"{"msdp":{"key":"REPORT","val":"HEALTH"}}"#)
            let report = T.subnegotiation(Self.msdp, [1] + Array("REPORT".utf8) + [2] + Array("HEALTH".utf8))
            _ = try await target.receive(upTo: report)
            try await edge.expectHealthy()
        }
    }
}

/// Reads as those clients do: binary messages are the stream; a text message is JSON, or base64 of a deflated piece of
/// the stream.
private struct LegacyBrowser {
    let socket: TestWebSocket
    private(set) var hidesInput = false
    /// Pieces of text, and what GMCP and MSDP say, in order.
    private(set) var heard: [String] = []
    private(set) var text = ""

    init(_ socket: TestWebSocket) { self.socket = socket }

    mutating func hear(_ isDone: (LegacyBrowser) -> Bool) async throws {
        while !isDone(self) {
            let message = try await socket.nextMessage()
            guard message.isText else {
                read(message.bytes)
                continue
            }
            guard message.bytes.first == UInt8(ascii: "{") else {
                var deflated = [UInt8](try #require(Data(base64Encoded: message.text)))[...]
                read(try Inflater(format: .raw).inflate(&deflated, limit: 65_536).bytes)
                continue
            }
            if let gmcp = message["gmcp"] { heard.append(gmcp) }
            if let pair = message.fields["msdp"] as? [String: String] {
                heard.append("\(pair["key"] ?? "")=\(pair["val"] ?? "")")
            }
        }
    }

    private mutating func read(_ bytes: [UInt8]) {
        var rest = bytes[...]
        while let first = rest.first {
            guard first == TelnetBytes.iac else {
                let run = rest.prefix { $0 != TelnetBytes.iac }
                rest = rest.dropFirst(run.count)
                show(String(decoding: run, as: UTF8.self))
                continue
            }
            rest = command(rest)
        }
    }

    private mutating func show(_ run: String) {
        text += run
        heard.append(run)
    }

    private mutating func command(_ rest: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let bytes = Array(rest)
        guard bytes.count > 2, bytes[1] == TelnetBytes.begin else {
            if bytes.count > 2, bytes[2] == TelnetBytes.echo { hidesInput = bytes[1] == TelnetBytes.will }
            return rest.dropFirst(3)
        }
        let payload = bytes.dropFirst(3).prefix { $0 != TelnetBytes.iac }
        let said = String(decoding: payload, as: UTF8.self)
        heard.append(
            bytes[2] == TelnetBytes.gmcp
                ? said : said.dropFirst().split(separator: "\u{2}").joined(separator: "="))
        return rest.dropFirst(payload.count + 5)
    }
}
