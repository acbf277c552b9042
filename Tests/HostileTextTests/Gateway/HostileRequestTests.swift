import EdgeTestKit
import Testing

/// The whole way of a hostile text through the real program: each request, each dialect's messages, a certificate's
/// names. One after another, since all threads of the program are measured.
@Suite("Hostile text over the network", .serialized) struct HostileRequestTests {
    private static let maximumReports = 2
    /// The others are tried out in each place by itself (`HostileTextTests`).
    private static let texts =
        [HostileText.marks]
        + HostileText.unicode.filter { ["one mark", "regional indicators", "joined emoji"].contains($0.name) }
        + HostileText.ascii.filter { ["of \",\"", "of list members", "of escapes"].contains($0.name) }

    private static let gateway = Task { try await HostileGateway.start() }

    @Test(arguments: HostileRequest.all) func `costs the gateway linear time in every request`(request: HostileRequest)
        async throws
    {
        let gateway = try await Self.gateway.value
        var reports = 0
        for text in Self.texts {
            for spelling in request.spellings where reports < Self.maximumReports {
                let judgement = try await Judgement.of(HostileText.triedBytes(of: request.bytes)) { count in
                    try await gateway.cost(of: request.make(Sample.of(text, spelling, count)), to: request.listener)
                }
                guard !judgement.isGood else { continue }
                reports += 1
                Issue.record("\(request.name), \(text.name), \(spelling.rawValue): \(judgement)")
            }
        }
    }

    @Test func `costs the gateway linear time in the names of an attestation's certificates`() async throws {
        let gateway = try await Self.gateway.value
        for text in Self.texts {
            let judgement = try await Judgement.of(HostileAttestation.bytes) { count in
                let name = String(decoding: Sample.of(text, .plain, count), as: UTF8.self)
                let body = try await HostileAttestation.registration(naming: name, nonce: gateway.process.challenge())
                let head =
                    "POST /attest/register HTTP/1.1\r\nHost: gate.example\r\nContent-Length: \(body.count)\r\n\r\n"
                return try await gateway.cost(of: Array(head.utf8) + body, to: .edge)
            }
            #expect(judgement.isGood, "\(text.name): \(judgement)")
        }
    }

    private static let messages = [
        ("json.mudstandards.org", #"{"proto":"$","id":"a","data":"a"}"#),
        ("json.mudstandards.org", #"{"proto":"gmcp","id":"$"}"#),
        ("gmcp.mudstandards.org", #"A.B {"$":1}"#), ("gmcp.mudstandards.org", "$ 1"),
        ("", #"{"type":"$"}"#), ("", #"{"type":"connect","target":"$"}"#), ("", #"{"connect":1,"mud":"$"}"#),
        ("terminal.mudstandards.org", "$"),
    ]

    @Test(arguments: messages) func `costs the gateway linear time in every message`(
        subprotocol: String, template: String
    ) async throws {
        let gateway = try await Self.gateway.value
        for text in Self.texts {
            for spelling in [Spelling.json, .jsonEscapes] {
                let judgement = try await Judgement.of(HostileText.triedBytes(of: 64_512)) { count in
                    let message = filled(template, with: Sample.of(text, spelling, count))
                    let handshake = subprotocol.isEmpty ? Handshake() : Handshake().offering(subprotocol)
                    return try await gateway.cost(
                        ofMessage: WebSocketFrame(WebSocketFrame.Opcode.text, message),
                        on: gateway.process.open(handshake))
                }
                let place = "\(subprotocol) \(template)"
                #expect(judgement.isGood, "\(place), \(text.name), \(spelling.rawValue): \(judgement)")
                guard judgement.isGood else { return }
            }
        }
    }
}
