import Crypto
import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// `AUTH_MODE=shared-secret`: the additional requirement.
    @Suite struct SharedSecretTests {
        private static let first = String(repeating: "first-secret-", count: 3)
        private static let second = String(repeating: "second-secret-", count: 3)

        @Test func `a client with no secret or a wrong one is refused`() async throws {
            let secrets = try SecretsFile([("app", Self.first), ("tool", Self.second)])
            let edge = try await Edge.start { secrets.demanded(by: $0) }
            expectRefusal(try await edge.gateway.refusal(Handshake()), 401, "shared_secret_required")
            for wrong in ["Bearer \(Self.first)x", "Bearer ", "Basic \(Self.first)", Self.first] {
                let answer = try await edge.gateway.refusal(Handshake().adding("Authorization", wrong))
                #expect(answer.status == 401, "\(wrong)")
            }
            for (scheme, secret, name) in [("Bearer", Self.first, "app"), ("bearer", Self.second, "tool")] {
                let handshake = Handshake().adding("Authorization", "\(scheme) \(secret)")
                try await Edge.expectEcho(edge.gateway.open(handshake))
                let line = try await edge.gateway.auditLine("\"event\":\"upgrade\"", "admitted", "secret \(name)")
                #expect(!line.contains(secret))
            }
        }

        /// Both are required: each alone is refused, and a refusal for a missing secret spends no challenge.
        @Test func `the secret is required in addition to App Attest`() async throws {
            let apple = try SimulatedApple()
            let secrets = try SecretsFile([("app", Self.first)])
            let edge = try await Edge.start { secrets.demanded(by: $0.appAttest(apple)) }
            let device = try await apple.enrolledDevice(at: edge.gateway)
            let handshake = try await device.handshake(at: edge.gateway)
            expectRefusal(try await edge.gateway.refusal(handshake), 401, "shared_secret_required")
            try await Edge.expectEcho(edge.gateway.open(handshake.adding("Authorization", "Bearer \(Self.first)")))
            let alone = Handshake().adding("Authorization", "Bearer \(Self.first)")
            expectRefusal(try await edge.gateway.refusal(alone), 401, "app_auth_required")
        }

        @Test func `secrets are rotated by a reload`() async throws {
            let secrets = try SecretsFile([("old", Self.first)])
            let edge = try await Edge.start { secrets.demanded(by: $0) }
            let old = Handshake().adding("Authorization", "Bearer \(Self.first)")
            let live = try await edge.gateway.open(old)
            try secrets.write([("new", Self.second)])
            edge.gateway.child.signal(SIGHUP)
            try await edge.gateway.logLine(" reloaded")
            expectRefusal(try await edge.gateway.refusal(old), 401, "invalid_shared_secret")
            try await Edge.expectEcho(edge.gateway.open(Handshake().adding("Authorization", "Bearer \(Self.second)")))
            try await Edge.expectEcho(live)
        }

        @Test func `a client without Origin can be refused`() async throws {
            let edge = try await Edge.start {
                $0.setting("ALLOW_MISSING_ORIGIN", "false").setting("ALLOWED_ORIGINS", "https://mud.example")
            }
            expectRefusal(try await edge.gateway.refusal(Handshake()), 403, "origin_refused")
            try await Edge.expectEcho(edge.gateway.open(Handshake().adding("Origin", "https://mud.example")))
        }
    }
}

/// A file of `SHARED_SECRETS_PATH`: names and hashes, as an operator writes them.
struct SecretsFile {
    private let directory: TemporaryDirectory
    private var path: String { directory.file("secrets") }

    init(_ secrets: [(name: String, secret: String)]) throws {
        directory = try TemporaryDirectory()
        try write(secrets)
    }

    func write(_ secrets: [(name: String, secret: String)]) throws {
        let lines = secrets.map { "\($0.name) sha256:\(Hex.encode(SHA256.hash(data: Data($0.secret.utf8))))\n" }
        try Data(lines.joined().utf8).write(to: URL(filePath: path))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
    }

    func demanded(by settings: GatewaySettings) -> GatewaySettings {
        settings.setting("AUTH_MODE", "shared-secret").setting("SHARED_SECRETS_PATH", path)
    }
}
