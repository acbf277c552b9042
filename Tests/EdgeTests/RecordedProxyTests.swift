import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// Traefik and Envoy aren't in Debian. What they asked, with config/traefik.yml.example and
    /// config/envoy.yaml.example, was recorded: byte by byte the requests of Traefik 3.7.15 and Envoy 1.40.0, with a
    /// token and a proof in the places of those that were recorded.
    @Suite struct RecordedProxyTests {
        /// Of a client that has also sent `X-Original-…`, `X-Forwarded-…`, `Forwarded`, `X-Portcullis-Subject` and
        /// `X_Portcullis_Subject`, and has named some of them in `Connection`.
        private static let traefik = """
            GET /authz HTTP/1.1
            Host: 127.0.0.1:39464
            User-Agent: curl/7.88.1
            Accept: */*
            Authorization: DPoP TOKEN
            Content-Type: application/x-www-form-urlencoded
            Dpop: PROOF
            X-Forwarded-For: 127.0.0.1
            X-Forwarded-Host: api.example.com
            X-Forwarded-Method: POST
            X-Forwarded-Port: 443
            X-Forwarded-Proto: https
            X-Forwarded-Server: vm
            X-Forwarded-Uri: /v1/chat?model=x
            X-Real-Ip: 127.0.0.1
            Accept-Encoding: gzip


            """
        private static let envoy = """
            POST /authz/v1/chat?model=x HTTP/1.1
            host: api.example.com
            content-length: 0
            x-forwarded-proto: https
            dpop: PROOF
            x-forwarded-for: 192.0.2.66,192.0.2.2
            authorization: DPoP TOKEN
            x-envoy-internal: true
            x-envoy-expected-rq-timeout-ms: 5000


            """
        /// Of a client that has asked for `//v1//mod%65ls/../x`.
        private static let traefikWithSlashes =
            traefik
            .replacing("X-Forwarded-Method: POST", with: "X-Forwarded-Method: GET")
            .replacing("Content-Type: application/x-www-form-urlencoded\n", with: "")
            .replacing("/v1/chat?model=x", with: "/v1/x")
        private static let envoyWithSlashes =
            envoy
            .replacing("POST /authz/v1/chat?model=x", with: "GET /authz//v1//x")
            .replacing("192.0.2.66,192.0.2.2", with: "192.0.2.2")

        private func start() async throws -> (Edge, TokenClient, String) {
            let apple = try SimulatedApple()
            let edge = try await Edge.start {
                $0.appAttest(apple).setting("ALLOW_DEV_TOKENS", "true").setting("ADMIN_BIND", "127.0.0.1:0")
                    .setting("AUTHZ_ADMIT", "token+dev").setting("PUBLIC_ORIGIN", "http://localhost")
            }
            let client = try TokenClient.simulator(at: edge.gateway)
            let issued = try await edge.gateway.issueDevelopmentToken()
            return (edge, client, try await client.token(for: issued.token))
        }

        private func question(_ recorded: String, _ token: String, _ proof: String) -> String {
            recorded.replacing("\n", with: "\r\n").replacing("TOKEN", with: token).replacing("PROOF", with: proof)
        }

        @Test func `a good request is authorized, in the form that each proxy understands`() async throws {
            let (edge, client, token) = try await start()
            for (recorded, status) in [(Self.traefik, 204), (Self.envoy, 200)] {
                func proof(_ method: String, _ url: String) throws -> String {
                    try client.proof(method, url, claims: ["ath": TokenClient.hash(of: token)])
                }
                let url = "https://api.example.com/v1/chat?model=x"
                let good = question(recorded, token, try proof("POST", url))
                let answer = try await edge.gateway.ask(good)
                #expect(answer.status == status && answer["x-portcullis-mode"] == "dev", "\(answer)")
                expectRefusal(try await edge.gateway.ask(good), 401, "invalid_dpop_proof")
                for (method, other) in [
                    ("GET", url), ("POST", "https://api.example.com/forged"), ("POST", "http://forged.example/forged"),
                ] {
                    let wrong = try await edge.gateway.ask(question(recorded, token, proof(method, other)))
                    expectRefusal(wrong, 401, "invalid_dpop_proof")
                }
            }
        }

        @Test func `Traefik has merged slashes, and Envoy hasn't`() async throws {
            let (edge, client, token) = try await start()
            let whole = "https://api.example.com//v1//mod%65ls/../x"
            for (recorded, url, status) in [
                (Self.traefikWithSlashes, whole, 401), (Self.traefikWithSlashes, "https://api.example.com/v1/x", 204),
                (Self.envoyWithSlashes, whole, 200),
            ] {
                let proof = try client.proof("GET", url, claims: ["ath": TokenClient.hash(of: token)])
                let answer = try await edge.gateway.ask(question(recorded, token, proof))
                #expect(answer.status == status, "\(url): \(answer)")
            }
        }
    }
}
