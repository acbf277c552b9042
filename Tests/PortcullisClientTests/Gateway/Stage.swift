import AppAttest
import EdgeTestKit
import Foundation
import PortcullisClient
import Testing

/// Everything that drives the real gateway. Each test starts processes, so one runs at a time.
@Suite("The real gateway", .serialized, .timeLimit(.minutes(15)))
enum GatewayTests {}

/// A real gateway, its target, and what a client needs to know of them.
struct Stage: Sendable {
    let apple: SimulatedApple
    let target: TargetServer
    let gateway: GatewayProcess
    let directory: TemporaryDirectory
    let trust: ServerTrust

    /// - Parameter change: the settings that differ from those of a gateway with App Attest and TLS.
    init(
        _ manner: TargetServer.Manner = .echo, apple: SimulatedApple? = nil, tls: Bool = true,
        _ change: (GatewaySettings) -> GatewaySettings = { $0 }
    ) async throws {
        let certificates = try await DevCertificates.shared()
        (self.apple, directory) = (try apple ?? SimulatedApple(), try TemporaryDirectory())
        target = try await TargetServer.start(manner)
        var settings = GatewaySettings(targetPort: target.port).appAttest(self.apple)
            .setting("CONTROL_SOCKET_PATH", directory.file("control.sock")).setting(
                "FAILED_UPGRADES_PER_MINUTE", "100000")
        if tls { settings = settings.tls(certificates) }
        gateway = try await GatewayProcess.start(change(settings))
        trust = ServerTrust(authorities: [try Self.der(certificates.serverCA)])
    }

    static func der(_ pem: String) throws -> Data {
        let lines = try String(contentsOfFile: pem, encoding: .utf8).split(separator: "\n").filter {
            !$0.hasPrefix("-----")
        }
        return try #require(Data(base64Encoded: lines.joined()))
    }

    var url: String { "\(gateway.isTLS ? "https" : "http")://localhost:\(gateway.port)" }

    /// - Parameter port: of a relay in front of the gateway.
    func bench(
        port: Int? = nil, attest: SimulatedAppAttest? = nil, passkeys: SimulatedPasskeys = .init(),
        secrets: MemorySecretStore = .init(), trust: ServerTrust? = nil,
        developmentToken: String? = nil, unlock: any LocalUnlock = NoLocalUnlock(),
        losing: LostAnswers? = nil, _ change: (inout GateConfiguration) -> Void = { _ in }
    ) throws -> Bench {
        let url = port.map { "\(gateway.isTLS ? "https" : "http")://localhost:\($0)" } ?? url
        return try Bench(
            url, apple: apple, attest: attest, passkeys: passkeys, secrets: secrets, trust: trust ?? self.trust,
            developmentToken: developmentToken, unlock: unlock, losing: losing, change)
    }

    /// A line goes to the target and back.
    static func expectEcho(_ player: Player, _ line: String = "look") async throws {
        let number = try await player.connection.send(line)
        try await player.text(line)
        try await player.wait(for: "the confirmation") { $0.outcomes.contains(.delivered(number)) }
    }

    /// With players' accounts.
    ///
    /// - Parameter publicPort: of a relay in front of the gateway; nil: its own.
    static func withAccounts(
        publicPort: Int? = nil, port: Int? = nil, _ change: (GatewaySettings) -> GatewaySettings = { $0 }
    ) async throws -> Stage {
        let port = try port ?? FrontProxy.freePort()
        return try await Stage {
            change(
                $0.setting("WS_PORT", port).setting("PUBLIC_ORIGIN", "https://localhost:\(publicPort ?? port)")
                    .setting("PASSKEY_RP_ID", "localhost"))
        }
    }

    func ticket(uses: Int = 1, account: String? = nil) async throws -> String {
        let output = try await GatewayProcess.run(
            ["ticket", "--socket", directory.file("control.sock"), "--uses", "\(uses)"]
                + (account.map { ["--account", $0] } ?? []))
        return try #require(output.outputLines.first, "\(output)")
    }
}
