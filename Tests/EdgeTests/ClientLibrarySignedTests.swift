import AppAttest
import EdgeTestKit
import Foundation
import PortcullisClient
import PortcullisClientNIO
import Testing

extension EdgeTests {
    /// The client library signs its requests behind the real nginx, on one origin with the gateway.
    @Suite struct ClientLibrarySignedTests {
        private struct House {
            let apple: SimulatedApple
            let edge: Edge
            let api: TargetServer
            let proxy: FrontProxy
            let client: GateClient
            private let directory: TemporaryDirectory

            init() async throws {
                let (directory, apple) = (try TemporaryDirectory(), try SimulatedApple())
                let (port, socket) = (try FrontProxy.freePort(), directory.file("admin.sock"))
                (self.directory, self.apple) = (directory, apple)
                let certificates = try await DevCertificates.shared()
                api = try await TargetServer.start(tls: certificates.server)
                edge = try await Edge.start {
                    $0.appAttest(apple).setting("ADMIN_BIND", "unix:" + socket).setting("SIGNED_REQUESTS", "on")
                        .setting("AUTHZ_ADMIT", "token+signed")
                        .setting("AUTHZ_BODY", "forwarded").setting("PUBLIC_ORIGIN", "https://localhost:\(port)")
                        .setting("TRUSTED_PROXY_CIDRS", "127.0.0.1")
                        .setting("MAX_CONNECTIONS_PER_ADDRESS", "100000")
                }
                proxy = try await FrontProxy.start(
                    .nginx, asking: socket, apiPort: api.port, gatewayPort: edge.gateway.port, signing: .bodies,
                    port: port)
                let configuration = try GateConfiguration(
                    baseURLString: "https://localhost:\(port)", teamIdentifier: apple.app.teamID,
                    bundleIdentifier: apple.app.bundleID)
                client = GateClient(
                    configuration: configuration,
                    platform: ClientPlatform(
                        transport: try NIOTransport(trust: ServerTrust(authorities: [Self.der(certificates.serverCA)])),
                        appAttest: SimulatedKeys(keys: SimulatedKeyService(apple: apple))))
            }

            private static func der(_ path: String) throws -> Data {
                let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
                return try #require(Data(base64Encoded: lines.filter { !$0.hasPrefix("-") }.joined()))
            }

            /// The API's answer to the next request.
            func serve(_ index: Int, bodyBytes: Int) async throws -> ReceivedRequest {
                let connection = try await api.connection(index)
                let request = try await connection.receiveRequest(bodyBytes: bodyBytes)
                try await connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi")
                await connection.close()
                return request
            }
        }

        private struct SimulatedKeys: AppAttestService {
            let keys: SimulatedKeyService

            var isSupported: Bool { true }
            func generateKey() async throws -> String { try await keys.generateKey() }
            func attestKey(_ keyIdentifier: String, clientDataHash: Data) async throws -> Data {
                try await keys.attestKey(keyIdentifier, clientDataHash: clientDataHash)
            }
            func generateAssertion(_ keyIdentifier: String, clientDataHash: Data) async throws -> Data {
                try await keys.generateAssertion(keyIdentifier, clientDataHash: clientDataHash)
            }
        }

        private let body = Data(#"{"mentions":true}"#.utf8)

        @Test func `either recipe reaches the service, and a forgotten key is replaced`() async throws {
            let house = try await House()
            let signed = house.client.signedRequests
            for (index, path, recipe) in [
                (0, "signed/preferences?a=b", SigningRecipe.body), (1, "preferences?a=b", .digest),
                (2, "signed/preferences", .digest),
            ] {
                async let served = house.serve(index, bodyBytes: body.count)
                let response = try await signed.perform(path: path, method: .put, body: body, recipe: recipe)
                let request = try await served
                #expect(response.status == 200, "\(path)")
                #expect(Data(request.body.utf8) == body && request["x-portcullis-method"] == ["signed_request"])
                #expect(
                    request["x-portcullis-content-digest"]
                        == [SignedClient.digest(String(decoding: body, as: UTF8.self))])
            }
            let line = try await house.edge.gateway.auditLine("\"registration\"", "admitted")
            let key = try #require(line.firstMatch(of: /"who":"([^"]+)"/)?.1).replacing("\\/", with: "/")
            _ = try await house.edge.gateway.keys("forget", String(key))
            async let served = house.serve(3, bodyBytes: body.count)
            let response = try await signed.perform(path: "signed/preferences", method: .put, body: body)
            let request = try await served
            #expect(response.status == 200 && request["x-portcullis-subject"] != [String(key)])
            try await signed.unregister()
        }

        @Test func `a body that nobody has seen isn't signed for`() async throws {
            let house = try await House()
            let response = try await house.client.signedRequests.perform(
                path: "preferences", method: .put, body: body, recipe: .body)
            #expect(response.status == 403 && house.api.connectionCount == 0)
        }
    }
}
