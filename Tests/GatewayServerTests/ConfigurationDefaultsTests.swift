import Admission
import AppAttest
import Foundation
import Logging
import Observability
import RelayCore
import Telnet
import Testing

@testable import GatewayServer

@Suite struct ConfigurationDefaultsTests {
    private let bench: ConfigurationBench

    init() throws {
        bench = try ConfigurationBench()
    }

    @Test func everythingThatIsNotSetHasItsDocumentedDefault() throws {
        let configuration = try bench.load(try bench.secured(["ATTESTED_KEYS_PATH": nil])).configuration
        #expect(configuration.listener.host.text == "127.0.0.1")
        #expect(configuration.listener.port == 6200)
        #expect(configuration.listener.tls?.handshakeTimeoutMilliseconds == 10_000)
        #expect(configuration.target.dialTimeoutMilliseconds == 10_000)
        #expect(
            configuration.gate
                == .init(
                    requiresCredentials: true, allowedOrigins: [], allowsMissingOrigin: true, sharedSecrets: nil,
                    blockList: BlockList()))
        #expect(configuration.appAttest?.environments == [.production])
        #expect(configuration.appAttest?.validationCategories == nil)
        #expect(configuration.appAttest?.customRoot == nil)
        #expect(configuration.clientCertificates == nil)
        #expect(configuration.target.routes == [] && configuration.target.keepAliveSeconds == 0)
        #expect(configuration.target.tls == .init(mode: .plain, authorityPath: nil, pins: []))
        #expect(configuration.target.proxyProtocol == .off)
        #expect(
            configuration.telnet
                == .init(
                    encoding: .utf8, mxp: .refuse, maximumSubnegotiationBytes: 65_536, maximumCompressionRatio: 100,
                    inflatedBytesPerSecond: 4_194_304))
        #expect(configuration.dialects == .init(standard: .auto, waitMilliseconds: 1500, connectWaitSeconds: 60))
        #expect(
            configuration.tickets
                == .init(
                    lifetimeSeconds: 30, maximum: 10_000, controlSocketPath: nil, servesWebClient: false,
                    publicOrigin: nil))
        #expect(configuration.proxies == .init(trusted: .init(), sendHeader: false))
        #expect(configuration.keyStore == .init(path: "config/attested-keys.sqlite", busyMilliseconds: 50))
        #expect(
            configuration.limits
                == .init(
                    requestsPerSecond: 50, challengeLifetimeSeconds: 60, maximumSpentChallenges: 100_000,
                    challengesPerMinute: 600,
                    registrationsPerMinute: 60, failedUpgradesPerMinute: 10, verificationsPerSecond: 20,
                    maximumLimiterEntries: 65_536))
        #expect(
            configuration.connections
                == .init(
                    maximum: nil, maximumPerAddress: 256, handshakesPerSecond: 1_000, handshakesPerSecondPerAddress: 20,
                    keepAliveSeconds: 75, headerTimeoutMilliseconds: 10_000,
                    bodyTimeoutMilliseconds: 10_000, upgradeTimeoutMilliseconds: 10_000, maximumHeaderBytes: 16_384,
                    maximumBodyBytes: 65_536))
        #expect(
            configuration.session
                == .init(
                    maximumSessions: nil, maximumPerDevice: 5, maximumPerAddress: 10, maximumMessageBytes: 65_536,
                    pingIntervalSeconds: 30, peerSilenceSeconds: 90,
                    clientBufferBytes: 65_536, targetBufferBytes: 65_536, closeFlushMilliseconds: 5000))
        #expect(
            configuration.compression
                == .init(
                    standard: .off, windowBits: 12, context: .both, minimumBytes: 64, level: 6, sessionBytes: 98_304,
                    totalBytes: 67_108_864))
        #expect(
            configuration.resume
                == .init(
                    graceMinutes: 45, sessionTimeoutHours: 24, outputBufferBytes: 51_200, slowClientSeconds: 30,
                    tellsTarget: false))
        #expect(
            configuration.traffic
                == .init(
                    messagesPerSecond: 60, messagesPerSecondPerAddress: 240, clientBytesPerSecond: 262_144,
                    targetBytesPerSecond: 4_194_304))
        #expect(
            configuration.process
                == .init(
                    reactorThreads: nil, shutdownGraceMilliseconds: 3000, shutdownDeadlineMilliseconds: 15_000,
                    drainReconnectMilliseconds: 5000))
        #expect(
            configuration.logs
                == .init(
                    level: .info, format: .text, auditLogPath: nil, auditRefusalsPerMinute: 300, auditFull: .refuse))
    }

    @Test func aSettingWrittenOutWithItsDefaultChangesNothing() throws {
        let base = try bench.secured(["ATTESTED_KEYS_PATH": nil])
        let defaults = Dictionary(uniqueKeysWithValues: ConfigurationLoading.rows.map { ($0.name, $0.defaultText) })
        let explicit = base.merging(defaults) { old, _ in old }
        #expect(try bench.load(explicit).configuration == bench.load(base).configuration)
    }

    @Test func anEmptyValueIsTheDefaultEvenWhereTheFileSetsOne() throws {
        let file = try bench.file("gateway.env", "LOG_LEVEL=debug\nWS_PORT=7000\n")
        let configuration = try bench.load(bench.least(["LOG_LEVEL": ""]), file: file).configuration
        #expect(configuration.logs.level == .info)
        #expect(configuration.listener.port == 7000)
    }

    @Test func everySettingOfTheTableIsReadAndNoOther() throws {
        let environment = try bench.secured()
        var loader = ConfigurationLoader(environment: environment, environmentFile: nil, now: bench.now)
        _ = loader.gatewayConfiguration()
        #expect(loader.namesRead == SettingTable.names)
    }

    @Test func namesInTheTableAreUniqueAndItsSectionsStandTogether() {
        let rows = ConfigurationLoading.rows
        #expect(Set(rows.map(\.name)).count == rows.count)
        let sections = rows.map(\.group).reduce(into: [SettingGroup]()) { if $0.last != $1 { $0.append($1) } }
        #expect(sections == SettingGroup.allCases)
    }

    @Test func theEnvironmentWinsOverTheFileAndOriginsAreShown() throws {
        let file = try bench.file("gateway.env", "\nWS_PORT=7000\nLOG_LEVEL=debug\n")
        let loaded = try bench.load(bench.least(["WS_PORT": "7001"]), file: file)
        #expect(loaded.configuration.listener.port == 7001)
        let settings = Dictionary(uniqueKeysWithValues: loaded.settings.map { ($0.row.name, $0) })
        #expect(settings["WS_PORT"]?.origin == .environment)
        #expect(settings["LOG_LEVEL"]?.origin == .file(path: file, line: 3))
        #expect(settings["LOG_FORMAT"]?.description == "LOG_FORMAT=text  # default")
        #expect(loaded.settings.map(\.row) == ConfigurationLoading.rows)
    }

    @Test func whatIsDerivedFromTheMachineIsShownWithItsFigure() throws {
        let loaded = try bench.load(bench.least(["MAX_SESSIONS_GLOBAL": "0", "MAX_CONNECTIONS": "100"]))
        let shown = Dictionary(uniqueKeysWithValues: loaded.settings.map { ($0.row.name, $0.description) })
        #expect(shown["REACTOR_THREADS"] == "REACTOR_THREADS=0  # default: \(Cores.count) here")
        #expect(shown["MAX_SESSIONS_GLOBAL"] == "MAX_SESSIONS_GLOBAL=0  # environment: \(FileLimit.capacity) here")
        #expect(shown["MAX_CONNECTIONS"] == "MAX_CONNECTIONS=100  # environment")
        #expect(shown.values.filter { $0.hasSuffix(" here") }.count == 2)
    }

    @Test func theGuidesOwnFileWorksAsItStands() throws {
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

    @Test func severalAppsOfSeveralTeamsAreEachKeptOnce() throws {
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
    func theEnvironmentNamesWhatItIncludes(name: String, environments: Set<AttestationEnvironment>) throws {
        let configuration = try bench.load(bench.least(["APPATTEST_ENVIRONMENT": name])).configuration
        #expect(configuration.appAttest?.environments == environments)
    }

    @Test func theKeysCommandNeedsNoMoreThanTheDatabase() throws {
        let storage = try ConfigurationLoading.loadKeyStorage(
            environment: ["ATTESTED_KEYS_PATH": "/var/lib/keys.sqlite"], environmentFile: nil)
        #expect(storage == .init(path: "/var/lib/keys.sqlite", busyMilliseconds: 50))
    }

    @Test func theDescriptionNamesTheWaysIn() throws {
        let configuration = try bench.load(bench.least(["REQUIRE_APP_AUTH": "false"])).configuration
        #expect(
            configuration.description == "ws://127.0.0.1:6200 to mud.example.org:4000, admitting "
                + "App Attest for AAABBBCCC1.com.example.yourapp, anyone")
    }
}
