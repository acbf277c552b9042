import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// Signed requests as Envoy and Traefik ask about them, which aren't in Debian: what they sent is in
    /// `Tests/Recorded`, byte by byte, with another signature in the place of that of the recording.
    @Suite struct RecordedSignedTests {
        private static let (body, url) = (#"{"mentions":true}"#, "https://api.example.com/preferences?a=b")

        private func start(bodies: String = "forwarded") async throws -> (GatewayProcess, SignedClient) {
            let apple = try SimulatedApple()
            let edge = try await Edge.start {
                $0.appAttest(apple).setting("SIGNED_REQUESTS", "on").setting("AUTHZ_ADMIT", "token+signed")
                    .setting("ADMIN_BIND", "127.0.0.1:0").setting("PUBLIC_ORIGIN", "http://localhost")
                    .setting("AUTHZ_BODY", bodies)
            }
            let client = try SignedClient(apple, at: edge.gateway)
            #expect(try await client.register().status == 201)
            return (edge.gateway, client)
        }

        private static func recorded(_ name: String) throws -> String {
            let path = ServerProgram.repository + "/Tests/Recorded/\(name).http"
            let text = try String(contentsOfFile: path, encoding: .utf8)
            // The end of a body's line is the file's own.
            return (text.hasSuffix("\n\n") ? text : String(text.dropLast())).replacing("\n", with: "\r\n")
        }

        private static func ask(
            _ gateway: GatewayProcess, _ name: String, _ fields: [String: String],
            changing: (String) -> String = { $0 }
        ) async throws -> ReceivedAnswer {
            var question = try recorded(name)
            for (place, field) in [
                ("ASSERTION", "Assertion"), ("CLIENTDATA", "ClientData"), ("CHALLENGE", "Challenge"),
                ("DIGEST", "BodySHA256"), ("KEY", "KeyId"),
            ] {
                if let value = fields["X-AppAttest-" + field] {
                    question = question.replacing(": \(place)\r\n", with: ": \(value)\r\n")
                }
            }
            // A request without a body has no digest.
            question = question.replacing(/(?i)x-appattest-bodysha256: DIGEST\r\n/, with: "")
            return try await gateway.ask(changing(question))
        }

        private static let all: [(String, Int)] = [
            ("envoy-1.40.0", 200), ("envoy-1.40.0-body", 200), ("traefik-3.7.15", 204), ("traefik-3.7.15-body", 204),
        ]

        @Test(arguments: all)
        func `recipe 2 passes in the form that each proxy understands`(name: String, status: Int) async throws {
            for bodies in ["off", "forwarded"] {
                let (gateway, client) = try await start(bodies: bodies)
                let fields = try await client.fields("PUT", Self.url, body: Self.body)
                let answer = try await Self.ask(gateway, name, fields)
                #expect(answer.status == status, "\(answer)")
                #expect(answer["x-portcullis-content-digest"] == SignedClient.digest(Self.body))
                #expect(answer["x-appattest-next-challenge"] != nil)
                expectRefusal(try await Self.ask(gateway, name, fields), 401, "invalid_nonce")
                for (method, url) in [("POST", Self.url), ("PUT", "https://api.example.com/other")] {
                    let other = try await client.fields(method, url, body: Self.body)
                    expectRefusal(try await Self.ask(gateway, name, other), 401, "assertion_rejected")
                }
            }
        }

        @Test func `recipe 1 passes as Envoy asks with bodies, and without one`() async throws {
            let (gateway, client) = try await start()
            let answer = try await Self.ask(gateway, "envoy-1.40.0-body", client.fields(body: Self.body))
            #expect(answer.status == 200, "\(answer)")
            let without = try await Self.ask(gateway, "envoy-1.40.0-body-get", client.fields())
            #expect(without.status == 200 && without["x-portcullis-content-digest"] == "absent", "\(without)")
            for recipe in [
                try await client.fields(body: Self.body), try await client.fields("PUT", Self.url, body: Self.body),
            ] {
                let swapped = try await Self.ask(gateway, "envoy-1.40.0-body", recipe) {
                    $0.replacing("\"mentions\":true", with: "\"mentions\":TRUE")
                }
                expectRefusal(swapped, 401, "digest_mismatch")
            }
        }

        @Test func `recipe 1 is refused where the length of the body isn't stated, or isn't the body's`() async throws {
            let (gateway, client) = try await start()
            for name in ["envoy-1.40.0", "traefik-3.7.15", "traefik-3.7.15-body", "traefik-3.7.15-body-chunked"] {
                expectRefusal(
                    try await Self.ask(gateway, name, client.fields(body: Self.body)), 403, "malformed_request")
            }
            expectRefusal(
                try await Self.ask(gateway, "envoy-1.40.0-body-chunked", client.fields(body: Self.body)), 401,
                "digest_mismatch")
            let (closed, other) = try await start(bodies: "off")
            expectRefusal(
                try await Self.ask(closed, "envoy-1.40.0-body", other.fields(body: Self.body)), 403,
                "malformed_request")
        }

        @Test(arguments: all)
        func `a key that isn't known any more is refused with the status that its client acts on`(
            name: String, status: Int
        ) async throws {
            let (gateway, client) = try await start()
            _ = try await gateway.keys("forget", client.device.keyID)
            let refused = try await Self.ask(gateway, name, client.fields("PUT", Self.url, body: Self.body))
            expectRefusal(refused, 428, "unknown_key")
            #expect(refused.errorText == "device requires re-attestation" && refused["x-refusal-status"] == "428")
            #expect(refused["x-appattest-next-challenge"] != nil)
        }
    }
}
