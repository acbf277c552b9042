import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import NIOTLS
import PortcullisClient

/// Connects, and secures the connection before anything is sent over it.
struct Dialer: Sendable {
    /// Connecting alone; the caller has a time limit for the whole.
    private static let connectTimeout = TimeAmount.seconds(20)

    private let trust: ServerTrust
    private let context: NIOSSLContext

    init(trust: ServerTrust) throws(GateError) {
        self.trust = trust
        do {
            context = try NIOSSLContext(configuration: try Self.configuration(trust))
        } catch {
            throw .configuration(.invalidCertificate)
        }
    }

    private static func configuration(_ trust: ServerTrust) throws -> TLSConfiguration {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv12
        configuration.applicationProtocols = ["http/1.1"]
        configuration.additionalTrustRoots = [
            .certificates(try trust.authorities.map { try NIOSSLCertificate(bytes: Array($0), format: .der) })
        ]
        #if DEBUG
            if trust.acceptsAnyCertificate { configuration.certificateVerification = .none }
            if let client = trust.clientCertificate {
                let bundle = try NIOSSLPKCS12Bundle(
                    buffer: Array(client.pkcs12), passphrase: Array(client.passphrase.utf8))
                configuration.certificateChain = bundle.certificateChain.map { .certificate($0) }
                configuration.privateKey = .privateKey(bundle.privateKey)
            }
        #endif
        return configuration
    }

    /// Connects, and lets `configure` add the handlers that complete the outcome. When the task is cancelled, or the
    /// outcome is a failure, the connection is closed.
    func exchange<Value: Sendable>(
        _ target: RequestTarget, _ configure: @escaping @Sendable (any Channel, Outcome<Value>) throws -> Void
    ) async throws -> Value {
        let outcome = Outcome<Value>()
        let connected = Outcome<any Channel>()
        let connecting = bootstrap(target).channelInitializer { channel in
            channel.eventLoop.makeCompletedFuture {
                try secure(channel, target) { result in
                    do {
                        try result.get()
                        try configure(channel, outcome)
                    } catch {
                        outcome.fail(error)
                    }
                }
            }
        }.connect(host: target.host, port: target.port)
        connecting.whenComplete { result in
            connected.complete(result)
            if case .failure(let error) = result { outcome.fail(error) }
        }
        do {
            return try await outcome.value()
        } catch {
            connected.whenComplete { result in
                if case .success(let channel) = result { channel.close(promise: nil) }
            }
            throw TransportFailure.named(error)
        }
    }

    private func bootstrap(_ target: RequestTarget) -> ClientBootstrap {
        ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connectTimeout(Self.connectTimeout)
            .channelOption(.socketOption(.so_keepalive), value: 1)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelOption(.maxMessagesPerRead, value: 4)
    }

    /// - Parameter ready: called on the channel's loop when a request may be sent.
    private func secure(
        _ channel: any Channel, _ target: RequestTarget, _ ready: @escaping (Result<Void, any Error>) -> Void
    ) throws {
        guard target.isSecure else {
            return try channel.pipeline.syncOperations.addHandler(PlainDoor(ready))
        }
        let tls = try NIOSSLClientHandler(context: context, serverHostname: target.isAddress ? nil : target.host)
        try channel.pipeline.syncOperations.addHandlers(tls, SecureDoor(trust, ready))
    }
}

/// Says when a connection without TLS is open.
private final class PlainDoor: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let ready: (Result<Void, any Error>) -> Void

    init(_ ready: @escaping (Result<Void, any Error>) -> Void) { self.ready = ready }

    func channelActive(context: ChannelHandlerContext) {
        ready(.success(()))
        context.fireChannelActive()
    }
}

/// Says when the TLS handshake has ended and the server's key is one of the pinned ones. Nothing is sent before.
private final class SecureDoor: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let trust: ServerTrust
    private var ready: ((Result<Void, any Error>) -> Void)?

    init(_ trust: ServerTrust, _ ready: @escaping (Result<Void, any Error>) -> Void) {
        (self.trust, self.ready) = (trust, ready)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted = event as? TLSUserEvent {
            do {
                let certificate = try context.channel.pipeline.syncOperations.nioSSL_peerCertificate()?.toDERBytes()
                tell(
                    trust.acceptsKey(of: certificate ?? []) ? .success(()) : .failure(NetworkProblem.pinMismatch),
                    context)
            } catch {
                tell(.failure(error), context)
            }
        }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        tell(.failure(error), context)
        context.fireErrorCaught(error)
    }

    func channelInactive(context: ChannelHandlerContext) {
        tell(.failure(NetworkProblem.tls), context)
        context.fireChannelInactive()
    }

    private func tell(_ result: Result<Void, any Error>, _ context: ChannelHandlerContext) {
        ready?(result)
        ready = nil
        if case .failure = result { context.close(promise: nil) }
    }
}

/// Errors of SwiftNIO in the library's words.
enum TransportFailure {
    static func named(_ error: any Error) -> any Error {
        switch error {
        case is GateError, is NetworkProblem, is AnswerFault, is UpgradeRefusal, is CancellationError, is WebSocketEnd:
            error
        case let error as NIOConnectionError: problem(error)
        case is NIOHTTPClientUpgradeError: AnswerFault.webSocket("a malformed 101")
        case is ChannelError: NetworkProblem.connectionLost
        case let error as IOError: problem(error)
        default: tls(error)
        }
    }

    private static func problem(_ error: NIOConnectionError) -> NetworkProblem {
        let codes = error.connectionErrors.compactMap { ($0.error as? IOError)?.errnoCode }
        return !codes.isEmpty && codes.allSatisfy { $0 == ENETUNREACH } ? .offline : .unreachable
    }

    private static func problem(_ error: IOError) -> NetworkProblem {
        error.errnoCode == ENETUNREACH ? .offline : error.errnoCode == ECONNREFUSED ? .unreachable : .connectionLost
    }

    /// BoringSSL tells the reason in its text alone.
    private static func tls(_ error: any Error) -> any Error {
        if let error = error as? NIOSSLExtraError, error == .failedToValidateHostname {
            return NetworkProblem.untrustedServer
        }
        // The peer has gone without TLS's own end, as a killed one does.
        if let error = error as? NIOSSLError, case .uncleanShutdown = error { return NetworkProblem.connectionLost }
        guard error is NIOSSLError || error is NIOSSLExtraError || error is BoringSSLError else {
            return NetworkProblem.other("\(type(of: error))")
        }
        let text = Array("\(error)".utf8.prefix(2_048))
        let words = Array("CERTIFICATE_VERIFY_FAILED".utf8)
        let isUntrusted = text.indices.contains { text[$0...].starts(with: words) }
        return isUntrusted ? NetworkProblem.untrustedServer : NetworkProblem.tls
    }
}
