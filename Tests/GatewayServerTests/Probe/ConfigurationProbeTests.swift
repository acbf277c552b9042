import EdgeTestKit
import Foundation
import Settings
import SettingsTestKit
import Testing

@testable import GatewayServer

/// What `check-config --probe` finds out, with targets and listeners that are there or aren't.
@Suite("A probe")
struct ConfigurationProbeTests {
    private let bench: ConfigurationBench

    init() throws { bench = try ConfigurationBench() }

    private func findings(_ settings: [String: String], of setting: String) throws -> [String] {
        let configuration = try bench.load(settings).configuration
        return try ConfigurationProbe(configuration).run().filter { $0.setting == setting }.map(\.description)
    }

    private func target(_ port: Int, _ changes: [String: String?] = [:]) -> [String: String] {
        bench.least(changes.merging(["TN_HOST": "127.0.0.1", "TN_PORT": "\(port)"]) { $1 })
    }

    /// A port that nothing listens on.
    private func closedPort() async throws -> Int {
        let server = try await TargetServer.start(.echo)
        let port = server.port
        await server.stopListening()
        return port
    }

    @Test func `dials the MUD and every route, and says what answers`() async throws {
        let (mud, closed) = (try await TargetServer.start(.echo), try await closedPort())
        let settings = target(
            mud.port, ["MUD_ROUTES": "live=localhost:\(mud.port);staging=127.0.0.1:\(closed),proxy=v2"])
        let found = try findings(settings, of: "TARGET_HOST")
        #expect(found.count == 1)
        #expect(found[0].contains(/^ok: TARGET_HOST: 127\.0\.0\.1:\d+ answers after \d+ ms, without TLS$/), "\(found)")
        let routes = try findings(settings, of: "TARGET_ROUTES")
        #expect(
            routes.count == 2 && routes[0].hasPrefix("ok: TARGET_ROUTES: live localhost:\(mud.port) answers"),
            "\(routes)")
        #expect(
            routes[1].hasPrefix(
                "failed: TARGET_ROUTES: staging 127.0.0.1:\(closed) doesn't answer: connection refused"),
            "\(routes)")
    }

    @Test func `uses TLS as the gateway does`() async throws {
        let certificates = try await DevCertificates.shared()
        let secure = try await TargetServer.start(.echo, tls: certificates.server)
        let plain = try await TargetServer.start(.scripted)
        let trusting = ["MUD_TLS_MODE": "required", "MUD_CA_PATH": certificates.serverCA]
        @Sendable func found(_ port: Int, _ changes: [String: String]) throws -> String {
            let settings = bench.least(changes.merging(["TN_HOST": "localhost", "TN_PORT": "\(port)"]) { $1 })
            return try findings(settings, of: "TARGET_HOST").joined()
        }
        #expect(try found(secure.port, trusting).contains(/^ok: .*, with TLSv1\.3$/))
        let untrusting = try found(secure.port, ["MUD_TLS_MODE": "required", "MUD_CA_PATH": certificates.clientCA])
        #expect(untrusting.hasPrefix("failed: ") && untrusting.contains("isn't trusted"), "\(untrusting)")
        // What a MUD says first is no TLS.
        async let greeting: Void = plain.connection().send("Welcome!\r\n")
        let preferring = trusting.merging(["MUD_TLS_MODE": "prefer"]) { $1 }
        let fallen = try await onOwnThread { try found(plain.port, preferring) }
        try await greeting
        #expect(fallen.hasPrefix("attention: ") && fallen.contains("without TLS: "), "\(fallen)")
    }

    @Test func `resolves names`() throws {
        let settings = target(
            1,
            [
                "PUBLIC_ORIGIN": "https://localhost", "TARGET_MODE": "allowlist",
                "TARGET_ALLOWLIST": "mud.invalid:4000",
            ])
        let own = try findings(settings, of: "PUBLIC_ORIGIN")
        #expect(
            own.contains { $0.hasPrefix("ok: PUBLIC_ORIGIN: localhost is ") && $0.hasSuffix("which is this machine") })
        let allowed = try findings(settings, of: "TARGET_ALLOWLIST")
        #expect(allowed.count == 1 && allowed[0].hasPrefix("attention: TARGET_ALLOWLIST: mud.invalid has no address: "))
        let missing = try findings(target(1, ["PUBLIC_ORIGIN": "https://gate.invalid"]), of: "PUBLIC_ORIGIN")
        #expect(missing.contains { $0.hasPrefix("failed: PUBLIC_ORIGIN: gate.invalid has no address: ") }, "\(missing)")
    }

    @Test func `compares origin, certificate and port`() throws {
        func found(_ origin: String, _ changes: [String: String] = [:]) throws -> [String] {
            let settings = try bench.secured(["PUBLIC_ORIGIN": origin, "TN_HOST": "127.0.0.1", "TN_PORT": "1"])
                .merging(changes) { $1 }
            return try ["PUBLIC_ORIGIN", "TLS_CERT_PATH"].flatMap { try findings(settings, of: $0) }
        }
        let good = try found("https://mud.example.org:6200")
        #expect(good.contains("ok: TLS_CERT_PATH: the certificate is for mud.example.org"), "\(good)")
        #expect(good.contains("ok: PUBLIC_ORIGIN: its port is WS_PORT, 6200"), "\(good)")
        let other = try found("https://play.example.org")
        #expect(
            other.contains(
                "failed: TLS_CERT_PATH: the certificate isn't for play.example.org, but for: mud.example.org"))
        #expect(
            other.contains {
                $0.hasPrefix("attention: PUBLIC_ORIGIN: its port is 443, and WS_PORT is 6200: a proxy")
            })
        let behind = try found("https://play.example.org", ["TRUSTED_PROXY_CIDRS": "127.0.0.1"])
        #expect(behind.contains { $0.hasPrefix("attention: TLS_CERT_PATH: the certificate isn't for") }, "\(behind)")
    }

    /// With the file's key, with another one, and with none at all.
    @Test func `looks whether clients get the certificate`() async throws {
        let certificates = try await DevCertificates.shared()
        let server = try await TargetServer.start(.echo, tls: certificates.server)
        let other = try bench.authority.issue("other", now: bench.now, hosts: ["localhost"])
        func found(_ certificate: String, _ key: String, _ port: Int, next: String? = nil) throws -> [String] {
            let settings = target(
                1,
                [
                    "INBOUND_TLS_MODE": "required", "TLS_CERT_PATH": certificate, "TLS_KEY_PATH": key,
                    "PUBLIC_ORIGIN": "https://localhost:\(port)", "NEXT_CERT_PATH": next,
                ])
            return try findings(settings, of: "TLS_CERT_PATH").filter { $0.contains("localhost:\(port)") }
        }
        let pair = certificates.server
        let same = try found(pair.certificate, pair.key, server.port)
        #expect(same == ["ok: TLS_CERT_PATH: localhost:\(server.port) shows this certificate's key"], "\(same)")
        let (certificate, key) = (try bench.file("o.pem", other.certificate), try bench.file("o.key", other.key))
        let foreign = try found(certificate, key, server.port)
        #expect(foreign.count == 1 && foreign[0].contains("shows another key: "), "\(foreign)")
        #expect(!foreign[0].contains("NEXT_CERT_PATH"), "\(foreign)")
        let announced = try found(certificate, key, server.port, next: certificate)
        #expect(announced == foreign)
        let unannounced = try found(certificate, key, server.port, next: certificates.otherServer.certificate)
        #expect(unannounced.count == 1 && unannounced[0].contains("NEXT_CERT_PATH doesn't announce"), "\(unannounced)")
        let before = try found(pair.certificate, pair.key, server.port, next: certificates.otherServer.certificate)
        #expect(before == same)
        let silent = try await found(certificate, key, closedPort())
        #expect(silent.count == 1 && silent[0].contains("doesn't answer (connection refused)"), "\(silent)")
    }
}
