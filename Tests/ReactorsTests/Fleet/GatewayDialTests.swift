import COpenSSL
import Glibc
import Testing
import WireText

@testable import Reactors

/// A gateway that dials another one of its fleet. The other end is played by OpenSSL's own calls.
@Suite(.ownThreads, .timeLimit(.minutes(10)))
struct GatewayDialTests {
    /// What the one end of the pair must be, so that a client's request is sent to it.
    enum Impostor: CaseIterable, Sendable {
        case otherAuthority, selfSigned, expired, otherHost, notGateway, clientOnly, oldTLS

        var identity: TestIdentity {
            let names = FleetCertificates.names
            let authority = FleetCertificates.authority
            return switch self {
            case .otherAuthority: TestIdentity("x", names: names, by: FleetCertificates.playersAuthority)
            case .selfSigned: TestIdentity("x", names: names)
            case .expired: TestIdentity("x", names: names, by: authority, days: -1)
            case .otherHost: TestIdentity("x", names: "DNS:other,DNS:\(FleetCertificates.role)", by: authority)
            case .notGateway: TestIdentity("x", names: "DNS:localhost,IP:127.0.0.1", by: authority)
            case .clientOnly: TestIdentity("x", names: names, by: authority, usage: "clientAuth")
            case .oldTLS: FleetCertificates.gateway
            }
        }
    }

    private static func answer(_ impostor: Impostor?) throws -> (PlainServer, Task<[UInt8]?, Never>) {
        let server = try PlainServer()
        let identity = impostor?.identity ?? FleetCertificates.gateway
        let version = impostor == .oldTLS ? TLS1_2_VERSION : nil
        let read = Task {
            await server.serve { socket -> [UInt8] in
                let settings = TLSPeer.Settings(identity: identity, version: version)
                return TLSPeer.accept(socket, settings)?.read(upTo: 4_096) ?? []
            }
        }
        return (server, read)
    }

    @Test(arguments: Impostor.allCases)
    func `nothing of a client is sent to what isn't a gateway of the fleet`(impostor: Impostor) async throws {
        let (server, read) = try Self.answer(impostor)
        let caller = try GatewayCaller(port: server.port)
        guard case .closed(let error?) = await caller.next() else {
            Issue.record("it was trusted")
            return
        }
        #expect(!error.isEmpty)
        #expect(await read.value == [])
    }

    @Test(arguments: ["127.0.0.1", "localhost"])
    func `a gateway of the fleet gets what is sent`(host: String) async throws {
        let (server, read) = try Self.answer(nil)
        let caller = try GatewayCaller(host: host, port: server.port)
        #expect(await caller.next() == .connected)
        #expect(await read.value == GatewayCaller.text)
    }
}

/// - Note: `@unchecked Sendable` because its mutable state is used only on the reactor's thread.
private final class GatewayCaller: TCPHandler, @unchecked Sendable {
    enum Event: Hashable, Sendable {
        case connected
        case closed(String?)
    }

    static let text = Array("PCUF".utf8)

    private let events: AsyncStream<Event>
    private let sink: AsyncStream<Event>.Continuation
    private var connection: TargetConnection?

    init(host: String = "127.0.0.1", port: UInt16) throws {
        (events, sink) = AsyncStream.makeStream(of: Event.self)
        let tls = try FleetCertificates.dialling()
        TestReactor.shared.submit {
            var options = DialOptions(timeoutMilliseconds: Patience.milliseconds)
            options.chooser = .operators
            let connection = TargetConnection.dial(
                host: host, port: port, options: options, tls: tls, on: TestReactor.shared, handler: self)
            self.connection = connection
            Self.text.withUnsafeBytes { connection.send($0) }
        }
    }

    func next() async -> Event? {
        for await event in events { return event }
        return nil
    }

    func tcpConnected() { sink.yield(.connected) }
    func tcpReceived(_ bytes: UnsafeRawBufferPointer) {}
    func tcpPeerFinished() {}
    func tcpWrote() {}
    func tcpClosed(error: TCPError?) {
        connection = nil
        sink.yield(.closed(error.map { "\($0)" }))
    }
}
