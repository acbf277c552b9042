import COpenSSL
import Glibc
import Testing

@testable import Reactors

/// Which targets are authenticated.
@Suite(.ownThreads, .timeLimit(.minutes(10)))
struct TargetTrustTests {
    private static let authority = TestCertificates.authority

    /// The result of the dial, and the target's result of the handshake.
    private func dial(
        _ identity: TestIdentity, host: String, tls: TargetTLS, version: Int32? = nil
    ) async throws -> (event: TCPEvent?, isAccepted: Bool?) {
        let server = try PlainServer()
        defer { server.close() }
        async let isAccepted = server.serve { socket -> Bool in
            guard let peer = TLSPeer.accept(socket, .init(identity: identity, version: version)) else { return false }
            return peer.write([1]) && peer.readAll() != nil
        }
        var (connection, heard) = await WatchedTarget.dial(server.port, host: host, tls: tls)
        let event = await heard.next()
        await connection.finish()
        return (event, await isAccepted)
    }

    @Test(arguments: [
        ("localhost", "DNS:localhost"), ("127.0.0.1", "IP:127.0.0.1"),
        ("localhost", "DNS:other.example,DNS:LOCALHOST"),
    ])
    func `a certificate of our CA for this host is trusted`(host: String, names: String) async throws {
        let identity = TestIdentity("x", names: names, by: Self.authority)
        let (event, isAccepted) = try await dial(identity, host: host, tls: .test())
        #expect(event == .connected)
        #expect(isAccepted == true)
    }

    enum Flaw: CaseIterable {
        case otherName, otherAddress, addressAsName, nameInSubjectAlone, otherAuthority, selfSigned, expired

        var identity: TestIdentity {
            let localhost = "DNS:localhost,IP:127.0.0.1"
            return switch self {
            case .otherName: TestIdentity("localhost", names: "DNS:other.example", by: authority)
            case .otherAddress: TestIdentity("x", names: "IP:127.0.0.2", by: authority)
            case .addressAsName: TestIdentity("x", names: "DNS:127.0.0.1", by: authority)
            case .nameInSubjectAlone: TestIdentity("localhost", by: authority)
            case .otherAuthority: TestIdentity("x", names: localhost, by: TestCertificates.otherAuthority)
            case .selfSigned: TestCertificates.selfSigned
            case .expired: TestIdentity("x", names: localhost, by: authority, days: -1)
            }
        }

        var host: String {
            switch self {
            case .otherAddress, .addressAsName: "127.0.0.1"
            default: "localhost"
            }
        }

        var words: String {
            switch self {
            case .otherName, .nameInSubjectAlone: "hostname mismatch"
            case .otherAddress, .addressAsName: "IP address mismatch"
            case .otherAuthority: "unable to get local issuer certificate"
            case .selfSigned: "self-signed certificate"
            case .expired: "certificate has expired"
            }
        }
    }

    @Test(arguments: Flaw.allCases, [(TargetTLSSettings.Mode.required, TLS1_3_VERSION), (.prefer, TLS1_2_VERSION)])
    func `any other certificate ends the connection in every mode and version`(
        flaw: Flaw, how: (mode: TargetTLSSettings.Mode, version: Int32)
    ) async throws {
        let (event, isAccepted) = try await dial(
            flaw.identity, host: flaw.host, tls: .test(how.mode), version: how.version)
        #expect(event == .closed(.notSecured(.untrusted(flaw.words))))
        #expect(isAccepted == false)
    }

    @Test(arguments: [
        TestCertificates.selfSigned, TestIdentity("x", names: "DNS:other.example"), TestIdentity("x", days: -1),
        TestIdentity("x", by: TestCertificates.otherAuthority),
    ])
    func `a pinned key is trusted without a CA, for any name, and after expiry`(identity: TestIdentity) async throws {
        let pins = [TestCertificates.server.pin, identity.pin]
        let (event, isAccepted) = try await dial(identity, host: "localhost", tls: .test(pins: pins))
        #expect(event == .connected)
        #expect(isAccepted == true)
    }

    @Test(arguments: [TargetTLSSettings.Mode.required, .prefer])
    func `with a pin no other key is trusted, even if our CA or a pinned CA signed it`(mode: TargetTLSSettings.Mode)
        async throws
    {
        let pins = [TestCertificates.selfSigned.pin, Self.authority.pin]
        let (event, isAccepted) = try await dial(
            TestCertificates.server, host: "localhost", tls: .test(mode, pins: pins))
        #expect(event == .closed(.notSecured(.notPinned(TestCertificates.server.pin))))
        #expect(isAccepted == false)
    }

    @Test func `the system's CAs don't trust the tests' CA`() async throws {
        let tls = try TargetTLS(TargetTLSSettings(mode: .required, handshakeTimeoutMilliseconds: Patience.milliseconds))
        let (event, _) = try await dial(TestCertificates.server, host: "localhost", tls: tls)
        #expect(event == .closed(.notSecured(.untrusted("unable to get local issuer certificate"))))
    }

    // MARK: Settings

    private func error(_ settings: TargetTLSSettings) -> TargetTLSSettingsError? {
        do throws(TargetTLSSettingsError) {
            _ = try TargetTLS(settings)
            return nil
        } catch {
            return error
        }
    }

    @Test func `a CA file that isn't one is an error at start`() {
        let pem = TestCertificates.authority.pem
        let texts = [
            "", "no certificate", String(pem.dropLast(100)), pem + pem.replacing("MII", with: "AII"),
        ]
        let files = texts.map(NamelessFile.init)
        for path in files.map(\.path) + ["/nowhere/ca.pem", "/tmp", ""] {
            guard case .caFile(path, let reason) = error(TargetTLSSettings(mode: .required, caPath: path)) else {
                Issue.record("\(path) was taken")
                continue
            }
            #expect(!reason.isEmpty)
        }
        let two = NamelessFile(pem + pem)
        #expect(error(TargetTLSSettings(mode: .prefer, caPath: two.path)) == nil)
        withExtendedLifetime((files, two)) {}
    }

    @Test func `a pin is the canonical base64 of 32 bytes`() {
        let text = "AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA="
        #expect(PublicKeyPin(base64: text)?.sha256 == Array(1...32))
        #expect(PublicKeyPin(base64: text)?.base64 == text)
        let error = PublicKeyPin(base64: text).map { TCPError.notSecured(.notPinned($0)) }
        #expect(error.map { "\($0)" }?.contains(" \(text) ") == true, "the log says it as MUD_TLS_PIN takes it")
        for wrong in [
            "", "AQID", String(text.dropLast()), text + "=", " " + text, text + "\n", "sha256//" + text,
            text.replacing("yA=", with: "yB="), "IQ" + text,
        ] {
            #expect(PublicKeyPin(base64: wrong) == nil, "\(wrong)")
        }
    }
}
