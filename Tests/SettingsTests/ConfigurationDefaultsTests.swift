import Admission
import AppAttest
import Foundation
import Logging
import Observability
import RelayCore
import SettingsTestKit
import Telnet
import Testing

@testable import Settings

@Suite struct ConfigurationDefaultsTests {
    private let bench: ConfigurationBench

    init() throws {
        bench = try ConfigurationBench()
    }

    @Test func `every unset setting has its documented default`() throws {
        let configuration = try bench.load(try bench.secured(["ATTESTED_KEYS_PATH": nil])).configuration
        #expect(configuration.listener.hosts.map(\.text) == ["127.0.0.1"])
        #expect(configuration.listener.port == 6200)
        #expect(configuration.target.dialTimeoutMilliseconds == 10_000)
        #expect(configuration.gate.appAuth == .required)
        #expect(configuration.gate.allowedOrigins == [])
        #expect(configuration.gate.allowsMissingOrigin == true)
        #expect(configuration.gate.authMode == .none && configuration.sharedSecrets == nil)
        #expect(configuration.blockList == BlockList())
        #expect(configuration.appAttest?.environments == [.production])
        #expect(configuration.appAttest?.validationCategories == nil)
        #expect(configuration.appAttest?.customRoot == nil)
        #expect(configuration.clientCertificates == nil)
        #expect(configuration.target.routes == [] && configuration.target.keepAliveSeconds == 120)
        #expect(configuration.target.tlsMode == .plain)
        #expect(configuration.target.authorityPath == nil && configuration.target.pins == [])
        #expect(configuration.target.proxyProtocol == .off)
        #expect(configuration.telnet.encoding == .utf8)
        #expect(configuration.telnet.mxp == .refuse && configuration.telnet.mccp == .on)
        #expect(configuration.telnet.maximumSubnegotiationBytes == 65_536)
        #expect(configuration.dialects.standard == .auto)
        #expect(configuration.dialects.waitMilliseconds == 1500)
        #expect(configuration.tickets.lifetimeSeconds == 30)
        #expect(configuration.tickets.controlSocketPath == nil)
        #expect(configuration.tickets.servesWebClient == false)
        #expect(configuration.tickets.webClientTitle == nil && configuration.tickets.webClientNoTicket == nil)
        #expect(configuration.tickets.publicOrigin == nil)
        #expect(configuration.trustedProxies == .init())
        #expect(configuration.proxies.sendHeader == false)
        #expect(configuration.keyStore.path == "config/attested-keys.sqlite")
        #expect(configuration.limits.requestsPerSecond == 50)
        #expect(configuration.limits.challengeLifetimeSeconds == 60)
        #expect(configuration.limits.challengesPerMinute == 600)
        #expect(configuration.limits.registrationsPerMinute == 60 && configuration.limits.tokensPerMinute == 600)
        #expect(configuration.limits.failedUpgradesPerMinute == 10)
        #expect(configuration.limits.verificationsPerSecond == 20)
        #expect(configuration.limits.maximumLimiterEntries == 65_536)
        #expect(configuration.connections.maximum == nil)
        #expect(configuration.connections.maximumPerAddress == 256)
        #expect(configuration.connections.handshakesPerSecond == 1_000)
        #expect(configuration.connections.handshakesPerSecondPerAddress == 20)
        #expect(configuration.connections.keepAliveSeconds == 75)
        #expect(configuration.connections.requestTimeoutMilliseconds == 10_000)
        #expect(configuration.connections.maximumBodyBytes == 65_536)
        #expect(configuration.session.maximumSessions == nil)
        #expect(configuration.session.maximumPerDevice == 5)
        #expect(configuration.session.maximumPerAddress == 10)
        #expect(configuration.session.maximumMessageBytes == 65_536)
        #expect(configuration.session.pingIntervalSeconds == 30)
        #expect(configuration.session.slowClientSeconds == 30 && configuration.session.connectWaitSeconds == 60)
        #expect(configuration.session.peerSilenceSeconds == 90 && configuration.session.gatewaySilenceSeconds == 150)
        #expect(configuration.session.closeFlushMilliseconds == 5000)
        #expect(configuration.compression.standard == .off)
        #expect(configuration.compression.context == .both)
        #expect(configuration.compression.totalBytes == 67_108_864)
        #expect(configuration.resume.graceMinutes == 45)
        #expect(configuration.resume.sessionTimeoutHours == 24)
        #expect(configuration.resume.outputBufferBytes == 51_200)
        #expect(configuration.resume.tellsTarget == false)
        #expect(configuration.traffic.messagesPerSecond == 60)
        #expect(configuration.traffic.messagesPerSecondPerAddress == 240)
        #expect(configuration.traffic.clientBytesPerSecond == 262_144)
        #expect(configuration.traffic.targetBytesPerSecond == 4_194_304)
        #expect(configuration.process.reactorThreads == nil)
        #expect(configuration.process.shutdownGraceMilliseconds == 3000)
        #expect(configuration.process.shutdownDeadlineMilliseconds == 15_000)
        #expect(configuration.copyover.readyMilliseconds == 30_000 && configuration.copyover.settleMilliseconds == 3000)
        #expect(configuration.logs.level == .info)
        #expect(configuration.logs.format == .text)
        #expect(configuration.logs.auditLogPath == nil)
        #expect(configuration.logs.auditRefusalsPerMinute == 300)
        #expect(configuration.logs.auditFull == .refuse)
    }

    @Test func `writing out a default changes nothing`() throws {
        let base = try bench.secured(["ATTESTED_KEYS_PATH": nil])
        let defaults = Dictionary(uniqueKeysWithValues: GatewaySettings.table.rows.map { ($0.name, $0.defaultText) })
        let explicit = base.merging(defaults) { old, _ in old }
        #expect(try bench.load(explicit).configuration == bench.load(base).configuration)
    }

    @Test func `an empty value is the default even if the file sets one`() throws {
        let file = try bench.file("gateway.env", "LOG_LEVEL=debug\nWS_PORT=7000\n")
        let configuration = try bench.load(bench.least(["LOG_LEVEL": ""]), file: file).configuration
        #expect(configuration.logs.level == .info)
        #expect(configuration.listener.port == 7000)
    }

    @Test func `setting names and section titles are unique`() {
        let (rows, titles) = (GatewaySettings.table.rows, GatewaySettings.table.sections.map(\.title))
        #expect(rows.count >= 100 && titles.count >= 19)
        #expect(Set(rows.map(\.name)).count == rows.count)
        #expect(Set(titles).count == titles.count)
    }

    /// A setting that nothing reads would look as if it had an effect.
    @Test func `every setting is used outside its definition`() throws {
        let sources = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("Sources/Gateway")
        let files = ["Settings/Gateway", "Settings/Loading", "GatewayServer", "portcullis"].flatMap { folder in
            let names = FileManager.default.enumerator(atPath: sources.appendingPathComponent(folder).path)
            return (names ?? .init()).compactMap { $0 as? String }.filter { $0.hasSuffix(".swift") }
                .map { sources.appendingPathComponent("\(folder)/\($0)") }
        }
        let text = try files.map { try String(contentsOf: $0, encoding: .utf8) }.joined(separator: "\n")
        for section in Mirror(reflecting: GatewaySettings.all).children {
            for setting in Mirror(reflecting: section.value).children {
                let name = try #require(setting.label)
                #expect(text.contains(try Regex("\\.\(name)\\b")), "\(section.label ?? "").\(name)")
            }
        }
    }

    @Test func `the environment overrides the file and origins are shown`() throws {
        let file = try bench.file("gateway.env", "\nWS_PORT=7000\nLOG_LEVEL=debug\n")
        let loaded = try bench.load(bench.least(["WS_PORT": "7001"]), file: file)
        #expect(loaded.configuration.listener.port == 7001)
        let settings = Dictionary(uniqueKeysWithValues: loaded.settings.map { ($0.row.name, $0) })
        #expect(settings["WS_PORT"]?.origin == .environment)
        #expect(settings["LOG_LEVEL"]?.origin == .file(path: file, line: 3))
        #expect(settings["LOG_FORMAT"]?.description == "LOG_FORMAT=text  # default")
        #expect(loaded.settings.map(\.row) == GatewaySettings.table.rows)
    }

    @Test func `values derived from the machine are shown`() throws {
        let loaded = try bench.load(bench.least(["MAX_SESSIONS_GLOBAL": "0", "MAX_CONNECTIONS": "100"]))
        let shown = Dictionary(uniqueKeysWithValues: loaded.settings.map { ($0.row.name, $0.description) })
        #expect(shown["REACTOR_THREADS"] == "REACTOR_THREADS=0  # default: \(Cores.count) here")
        #expect(shown["MAX_SESSIONS_GLOBAL"] == "MAX_SESSIONS_GLOBAL=0  # environment: \(FileLimit.capacity) here")
        #expect(shown["MAX_CONNECTIONS"] == "MAX_CONNECTIONS=100  # environment")
        #expect(shown.values.filter { $0.hasSuffix(" here") }.count == 2)
    }

    @Test func `the guide's own file works unchanged`() throws {
        let authority = try bench.file("ca.pem", bench.authority.certificate)
        let file = try bench.file(
            "guide.env",
            """
            REQUIRE_APP_AUTH=true
            APPATTEST_BUNDLE_ID=com.example.yourapp   # must match exactly
            APPATTEST_TEAM_ID=AAABBBCCC1             # 10-char Apple Developer team ID
            MTLS_CLIENT_CA_PATH=\(authority)  # for simulator fallback

            """)
        let environment = try bench.secured(["APPATTEST_BUNDLE_ID": nil, "APPATTEST_TEAM_ID": nil])
        let configuration = try bench.load(environment, file: file).configuration
        #expect(configuration.appAttest?.apps.map(\.description) == ["AAABBBCCC1.com.example.yourapp"])
        #expect(configuration.clientCertificates?.authorityPath == authority)
    }

    @Test func `several apps of several teams are each kept once`() throws {
        let configuration = try bench.load(
            bench.least([
                "APPATTEST_BUNDLE_ID": "com.example.a, com.example.b",
                "APPATTEST_APP_IDS": "BBBBBBBBBB.org.other,AAABBBCCC1.com.example.a",
            ])
        ).configuration
        #expect(
            configuration.appAttest?.apps.map(\.description) == [
                "AAABBBCCC1.com.example.a", "AAABBBCCC1.com.example.b", "BBBBBBBBBB.org.other",
            ])
    }

    @Test(
        arguments: [
            ("production", [.production]), ("development", [.development, .sandbox]),
            ("any", [.production, .development, .sandbox]),
        ] as [(String, Set<AttestationEnvironment>)])
    func `the environment setting names what it includes`(name: String, environments: Set<AttestationEnvironment>)
        throws
    {
        let configuration = try bench.load(bench.least(["APPATTEST_ENVIRONMENT": name])).configuration
        #expect(configuration.appAttest?.environments == environments)
    }

    @Test func `the keys command needs only the database`() throws {
        let location = try ConfigurationLoading.loadStoreLocation(
            environment: ["ATTESTED_KEYS_PATH": "/var/lib/keys.sqlite"], environmentFile: nil)
        #expect(location == .file(path: "/var/lib/keys.sqlite"))
    }

    @Test func `the description names the admission methods`() throws {
        let configuration = try bench.load(bench.least(["REQUIRE_APP_AUTH": "false"])).configuration
        #expect(
            configuration.description == "ws://127.0.0.1:6200 to mud.example.org:4000, admitting "
                + "App Attest for AAABBBCCC1.com.example.yourapp, anyone")
    }
}
