import Logging
import Reactors

/// Dials as the gateway does, on a reactor of its own. Blocking: for the command line.
struct ProbeDialer {
    struct Destination: Sendable {
        let host: String
        let port: UInt16
        let tls: TargetTLS?
    }

    struct Connected: Sendable {
        let milliseconds: UInt64
        /// Nil without TLS.
        let tlsVersion: String?
        /// Why `prefer` has fallen back.
        let fallback: TargetTLSFailure?
    }

    private let reactor: Reactor
    private let timeoutMilliseconds: Int

    /// - Parameter timeoutMilliseconds: for the name and the connection of each destination; TLS has its own limit.
    init(timeoutMilliseconds: Int) throws(ReactorError) {
        self.timeoutMilliseconds = timeoutMilliseconds
        let silent = Logger(label: "probe") { _ in SwiftLogNoOpLogHandler() }
        LibwebsocketsLog.use(silent)
        reactor = Reactor(index: 0, logger: silent)
        try reactor.start()
    }

    func stop() { reactor.stop() }

    /// All at once; each connection is closed as soon as it is there.
    func dial(_ destinations: [Destination]) -> [Result<Connected, TCPError>] {
        let answers = destinations.map { destination in
            let answer = BlockingAnswer<Result<Connected, TCPError>>()
            reactor.submit { [reactor, timeoutMilliseconds] in
                ProbeConnection(answer).dial(
                    destination, DialOptions(timeoutMilliseconds: timeoutMilliseconds), on: reactor)
            }
            return answer
        }
        return answers.map { $0.wait() }
    }
}

/// One dial. It and its connection hold each other until that is closed. Reactor thread only.
private final class ProbeConnection: TCPHandler {
    private let answer: BlockingAnswer<Result<ProbeDialer.Connected, TCPError>>
    private var connection: TargetConnection?
    private var isAnswered = false
    private let began = Reactor.monotonicNow

    init(_ answer: BlockingAnswer<Result<ProbeDialer.Connected, TCPError>>) { self.answer = answer }

    func dial(_ destination: ProbeDialer.Destination, _ options: DialOptions, on reactor: Reactor) {
        let dialled = TargetConnection.dial(
            host: destination.host, port: destination.port, options: options, tls: destination.tls, on: reactor,
            handler: self)
        // A dial that fails at once has been closed by now.
        if !isAnswered { connection = dialled }
    }

    private func give(_ result: Result<ProbeDialer.Connected, TCPError>) {
        guard !isAnswered else { return }
        isAnswered = true
        answer.set(result)
    }

    func tcpConnected() {
        let milliseconds = (Reactor.monotonicNow - began) / 1_000_000
        give(
            .success(
                ProbeDialer.Connected(
                    milliseconds: milliseconds, tlsVersion: connection?.tlsVersion, fallback: connection?.fallback)))
        connection?.drop()
    }

    func tcpClosed(error: TCPError?) {
        connection = nil
        give(.failure(error ?? .notConnected("the connection was closed")))
    }

    func tcpReceived(_ bytes: UnsafeRawBufferPointer) {}
    func tcpPeerFinished() {}
    func tcpWrote() {}
}
