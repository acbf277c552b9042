import COpenSSL
import FleetWire
import Testing
import WireText

@testable import Reactors

/// The listener for other gateways, and everybody else who connects to it.
@Suite(.ownThreads, .timeLimit(.minutes(10)))
struct FleetListenerTests {
    private let a = GatewayBench(on: TestReactor.started())
    private static let preface =
        RelayPreface(client: SocketAddress(IPAddress(ipv4: (192, 0, 2, 1)), port: 7), isTLS: true, requestID: "0a")
        .encoded() ?? []

    private func connect(
        _ port: UInt16, _ identity: TestIdentity? = FleetCertificates.gateway, serverName: String? = nil
    ) throws -> TLSPeer? {
        TLSPeer.connect(
            try PlainSocket.connected(host: "127.0.0.1", port: port), presenting: identity, serverName: serverName)
    }

    private static func isRefusal(_ event: GatewayBench.Event) -> Bool {
        switch event {
        case .gatewayRefused, .upgrade, .request: true
        default: false
        }
    }

    enum Stranger: CaseIterable, Sendable {
        case nobody, player, selfSigned, expired, serverOnly, notGateway

        var identity: TestIdentity? {
            let names = FleetCertificates.names
            let authority = FleetCertificates.authority
            return switch self {
            case .nobody: nil
            case .player: TestIdentity("x", names: names, by: FleetCertificates.playersAuthority)
            case .selfSigned: TestIdentity("x", names: names)
            case .expired: TestIdentity("x", names: names, by: authority, days: -1)
            case .serverOnly: TestIdentity("x", names: names, by: authority, usage: "serverAuth")
            case .notGateway: TestIdentity("x", names: "DNS:localhost,DNS:*.fleet", by: authority)
            }
        }
    }

    /// Not even if it names the other vhost of the reactor.
    @Test(arguments: Stranger.allCases, [nil, "localhost", "default"])
    func `a stranger isn't served`(stranger: Stranger, serverName: String?) async throws {
        var settings = EdgeSettings.plain
        settings.tls = .test
        settings.tls?.clientCAPath = FleetCertificates.playersFile.path
        _ = try await a.serve(settings)
        let port = try await a.serveGateways()
        let peer = try #require(try connect(port, stranger.identity, serverName: serverName))
        peer.write(Self.preface + upgradeRequest())
        #expect(peer.read(upTo: 100)?.isEmpty != false)
        guard case .gatewayRefused(let refusal) = await a.next(Self.isRefusal) else {
            Issue.record("it was served")
            return
        }
        switch stranger {
        case .nobody: #expect(refusal == .noCertificate)
        case .notGateway: #expect(refusal == .notGateway)
        default: if case .untrusted = refusal {} else { Issue.record("\(refusal)") }
        }
        await a.stop()
    }

    @Test func `TLS 1.2 isn't spoken`() async throws {
        let port = try await a.serveGateways()
        let socket = try PlainSocket.connected(host: "127.0.0.1", port: port)
        #expect(TLSPeer.connect(socket, presenting: FleetCertificates.gateway, version: TLS1_2_VERSION) == nil)
        await a.stop()
    }

    @Test func `without TLS nothing is served`() async throws {
        let port = try await a.serveGateways()
        let socket = try PlainSocket.connected(host: "127.0.0.1", port: port)
        socket.write(Self.preface + upgradeRequest())
        #expect(socket.readAll()?.starts(with: Array("HTTP".utf8)) != true)
        await a.stop()
    }

    @Test func `a preface and a request may come byte by byte`() async throws {
        let port = try await a.serveGateways()
        let peer = try #require(try connect(port))
        for byte in Self.preface + upgradeRequest() { peer.write([byte]) }
        #expect(String(decoding: try #require(peer.read(upTo: 4_096)), as: UTF8.self).hasPrefix("HTTP/1.1 101 "))
        await a.stop()
    }

    @Test func `an upgrade behind a preface is its client's, and another gateway's certificate isn't`() async throws {
        let port = try await a.serveGateways()
        let peer = try #require(try connect(port))
        peer.write(Self.preface + upgradeRequest())
        #expect(String(decoding: try #require(peer.read(upTo: 4_096)), as: UTF8.self).hasPrefix("HTTP/1.1 101 "))
        let client = SocketAddress(IPAddress(ipv4: (192, 0, 2, 1)), port: 7)
        let preface = RelayPreface(client: client, isTLS: true, requestID: "0a")
        #expect(
            await a.next(Self.isRefusal)
                == .upgrade(peer: client, isTLS: true, relayed: preface, isCertified: false))
        await a.stop()
    }

    @Test(arguments: [upgradeRequest(), Array("PCUF".utf8) + [2], Array("PCUF".utf8) + [1, 255, 255, 255]])
    func `a forged preface ends the connection`(bytes: [UInt8]) async throws {
        let port = try await a.serveGateways()
        let peer = try #require(try connect(port))
        peer.write(bytes)
        #expect(peer.read(upTo: 100)?.isEmpty != false)
        guard case .gatewayRefused(.preface) = await a.next(Self.isRefusal) else {
            Issue.record("it was served")
            return
        }
        await a.stop()
    }

    @Test(arguments: [0, 5])
    func `a preface that doesn't come in time ends the connection`(count: Int) async throws {
        let port = try await a.serveGateways { $0.headerMilliseconds = 200 }
        let peer = try #require(try connect(port))
        peer.write(Array(Self.preface.prefix(count)))
        #expect(peer.read(upTo: 100)?.isEmpty != false)
        #expect(await a.next(Self.isRefusal) == .gatewayRefused(.late(hasBegun: count > 0)))
        await a.stop()
    }

    @Test func `only upgrades are passed on`() async throws {
        let port = try await a.serveGateways()
        let peer = try #require(try connect(port))
        peer.write(Self.preface + Array("GET /health HTTP/1.1\r\nHost: x\r\n\r\n".utf8))
        #expect(String(decoding: try #require(peer.read(upTo: 4_096)), as: UTF8.self).hasPrefix("HTTP/1.1 400 "))
        await a.stop()
    }

    @Test func `the number of connections has a limit`() async throws {
        let port = try await a.serveGateways(maximum: 2)
        let first = try #require(try connect(port))
        let second = try #require(try connect(port))
        #expect(try connect(port) == nil)
        second.socket.hangUp(resets: true)
        first.socket.hangUp(resets: true)
        await a.stop()
    }
}
