import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// `error_description`, which is all that an app sees on its first run.
    @Suite struct ErrorDescriptionTests {
        private func start(_ change: (GatewaySettings) -> GatewaySettings = { $0 }) async throws -> (
            Edge, SimulatedApple
        ) {
            let apple = try SimulatedApple()
            let edge = try await Edge.start {
                change(
                    $0.appAttest(apple).setting("PUBLIC_ORIGIN", "http://localhost").setting("ALLOW_DEV_TOKENS", "true")
                        .setting("ADMIN_BIND", "127.0.0.1:0").setting("AUTHZ_ADMIT", "token+dev"))
            }
            return (edge, apple)
        }

        /// It begins with the code, has these words, and ends with the id that the gateway's log has.
        private func expect(
            _ answer: ReceivedAnswer, _ code: String, says words: String,
            sourceLocation: SourceLocation = #_sourceLocation
        ) {
            let description = answer.field("error_description") ?? ""
            #expect(
                answer.code == code && description.hasPrefix("\(code): "), "\(answer)", sourceLocation: sourceLocation)
            #expect(description.contains(words), "\(answer)", sourceLocation: sourceLocation)
            let id = answer.requestID ?? "none"
            #expect(description.hasSuffix(" (request \(id))"), "\(answer)", sourceLocation: sourceLocation)
            let isPlain = description.utf8.allSatisfy { (0x20...0x7E).contains($0) && $0 != 0x22 && $0 != 0x5C }
            #expect(
                isPlain && !description.contains("registration required"), "\(answer)", sourceLocation: sourceLocation)
        }

        @Test func `a client of tokens is told which check failed`() async throws {
            let (edge, apple) = try await start()
            let client = try TokenClient(apple, at: edge.gateway)
            let token = try await client.firstToken()
            func upgrade(_ proof: String, _ scheme: String = "Bearer") async throws -> ReceivedAnswer {
                let headers = ["Authorization": "\(scheme) \(token)", "DPoP": proof]
                return try await edge.gateway.refusal(Handshake().adding(headers))
            }
            let url = client.url("/", scheme: "wss")
            try await expect(upgrade(client.proof("POST", url)), "invalid_dpop_proof", says: "htm is not the method")
            try await expect(
                upgrade(client.proof("GET", "https://other.example/")), "invalid_dpop_proof",
                says: "htu is not the URL of this request, which is http://localhost/ (")
            try await expect(upgrade(client.proof("GET", url), "DPoP"), "invalid_dpop_proof", says: "ath is missing")
            let other = TokenClient.hash(of: token + "x")
            try await expect(
                upgrade(client.proof("GET", url, claims: ["ath": other]), "DPoP"), "invalid_dpop_proof",
                says: "ath is the hash of another token")
            let proof = try client.proof("GET", url)
            try await Edge.expectEcho(
                edge.gateway.open(Handshake().adding(["Authorization": "Bearer \(token)", "DPoP": proof])))
            try await expect(upgrade(proof), "invalid_dpop_proof", says: "replayed")
            let nonce = try await client.challenge()
            #expect(try await client.token(nonce: nonce).status == 200)
            try await expect(client.token(nonce: nonce), "nonce_expired", says: "nonce was used before")
        }

        @Test func `a client that registers is told what is wrong with its app`() async throws {
            let (edge, apple) = try await start()
            let client = try TokenClient(apple, at: edge.gateway)
            let bundle = try await client.register(nonce: client.challenge()) {
                $0["app"] = #"{"bundle_id":"com.example.other"}"#
            }
            expect(bundle, "attestation_failed", says: "wrong bundle: app.bundle_id is not that of the attested app")
            let garbage = try await client.register(nonce: client.challenge()) {
                $0["attestation"] = $0["attestation"]?.replacing(
                    /"attestation":"[^"]*"/, with: #""attestation":"AAAA""#)
            }
            expect(garbage, "attestation_failed", says: "is not the CBOR that attestKey returned")
            let device = try apple.device()
            let guide = try await edge.gateway.post(
                "/attest/register",
                #"{"keyId":"\#(device.keyID)","attestation":"AAAA","nonce":"\#(try await edge.gateway.challenge())"}"#)
            expect(guide, "attestation_rejected", says: "is not the CBOR that attestKey returned")
            #expect(guide.field("error") == "Invalid attestation registration request")
        }

        @Test func `the holder of a development token is told what became of it`() async throws {
            let (edge, _) = try await start()
            let issued = try await edge.gateway.issueDevelopmentToken("--devices", "1")
            let unknown = "pcdev_" + String(repeating: "0", count: 64)
            let client = try TokenClient.simulator(at: edge.gateway)
            try await expect(client.requestToken(for: unknown), "invalid_token", says: "token is unknown")
            _ = try await client.token(for: issued.token)
            let other = try TokenClient.simulator(at: edge.gateway)
            try await expect(other.requestToken(for: issued.token), "invalid_token", says: "token is used up")
            _ = try await edge.gateway.developmentTokens("revoke", issued.id)
            try await expect(client.requestToken(for: issued.token), "invalid_token", says: "token is revoked")
            let (off, _) = try await start { $0.removing("ALLOW_DEV_TOKENS").removing("AUTHZ_ADMIT") }
            let late = try TokenClient.simulator(at: off.gateway)
            try await expect(late.requestToken(for: unknown), "invalid_token", says: "switched off")
        }

        /// nginx copies it into a JSON text of its own.
        @Test func `a proxy gets the same description in a field`() async throws {
            let (edge, _) = try await start()
            let client = try TokenClient.simulator(at: edge.gateway)
            let token = try await client.token(for: edge.gateway.issueDevelopmentToken().token)
            for path in ["/v1", "/\"},{\"", "/a\\b", "/%22%0d%0a'<script>"] {
                let question =
                    try
                    "GET /authz HTTP/1.1\r\nHost: x\r\nX-Original-Method: GET\r\nX-Original-URL: https://api.example.com\(path)\r\n"
                    + client.headers("GET", "https://api.example.com/other", token) + "\r\n"
                let answer = try await edge.gateway.ask(question)
                expect(answer, "invalid_dpop_proof", says: "htu is not the URL of this request")
                #expect(answer["x-refusal-description"] == answer.field("error_description"), "\(answer)")
            }
        }
    }
}
