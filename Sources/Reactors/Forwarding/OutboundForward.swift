import ForwardingWire
import HTTPWire
import WireText

/// Where the gateway is that has a client's session.
package struct ForwardDestination: Sendable {
    /// As in its certificate: a name, or a numeric address.
    package var host: String
    package var port: UInt16
    package var tls: TargetTLS
    package var limits: ForwardLimits

    package init(host: String, port: UInt16, tls: TargetTLS, limits: ForwardLimits) {
        self.host = host
        self.port = port
        self.tls = tls
        self.limits = limits
    }
}

package struct ForwardLimits: Sendable, Hashable {
    /// For finding the other gateway and connecting to it. The handshake and the answer have limits of their own.
    package var dialMilliseconds = 4_000
    /// In each direction: above it the other side isn't read.
    package var queueBytes = 65_536
    /// Without a byte from the other gateway, which sends pings to its clients, or to a client for which some wait: it is cut off then.
    package var idleSeconds = 150
    /// For what is queued for the client at the end.
    package var flushMilliseconds = 10_000
    /// From a Close frame of ours to the end.
    package var closeMilliseconds = 1_000

    package init() {}
}

/// What becomes of an upgrade that was passed on.
package enum ForwardEvent: Sendable {
    /// There is no answer: the upgrade is still undecided. The last event.
    case failed(String)
    /// The client has its answer.
    case answered(status: Int)
    /// The last event.
    case ended(ForwardEnd)
}

package enum ForwardEnd: Hashable, Sendable {
    /// The client or the other gateway has ended the WebSocket, or has left.
    case inOrder
    /// The other gateway's connection broke; the text is for the log.
    case lost(String)
    /// `ForwardedUpgrade.close`
    case closed
}

/// An upgrade that another gateway of the fleet decides about, and the WebSocket behind it: copies bytes in both directions. Reactor thread only.
///
/// It decides nothing. The client's connection goes on being an `EdgeConnection`, of which this is a stage once the other gateway has answered.
/// The other gateway is lost if its connection ends without a Close frame: the client is told by a Close frame of ours, between two frames.
final class OutboundForward: TCPHandler, TimerTarget {
    private enum Stage {
        /// The upgrade is undecided.
        case asking
        case relaying
        /// Our own Close frame is on its way; what the client has sent before its own is still passed on.
        case closing
        case over
    }

    private let reactor: Reactor
    private let limits: ForwardLimits
    private let report: (ForwardEvent) -> Void
    /// Nil once there is an answer, or the client is gone. It refers back to this object until then.
    private var exchange: UpgradeExchange?
    /// Nil before the answer, and once the client is gone. The same.
    private var connection: EdgeConnection?
    private var transport: TargetConnection?
    private var stage = Stage.asking
    private var answer = ForwardedAnswer()
    private var clientFrames = FrameWalk()
    private var hasClientClosed = false
    private(set) var pausesClient = false
    private(set) var pausesTransport = false
    private var lastHeard: UInt64 = 0
    /// When the client has last taken something, and what waited for it then.
    private var taken: (at: UInt64, waiting: Int) = (0, 0)
    private lazy var timer = ReactorTimer(on: reactor)
    private var hasReportedEnd = false

    /// After a Close frame of ours, and when the other gateway is done: the client's connection ends once it has what is queued.
    var isOver: Bool { if case .over = stage { true } else { false } }
    var isSwitched: Bool { answer.isSwitched }

    init(
        _ exchange: UpgradeExchange, to destination: ForwardDestination, preface: [UInt8],
        report: @escaping (ForwardEvent) -> Void
    ) {
        reactor = exchange.reactor
        limits = destination.limits
        self.exchange = exchange
        self.report = report
        var options = DialOptions(timeoutMilliseconds: limits.dialMilliseconds)
        options.chooser = .operators
        let transport = TargetConnection.dial(
            host: destination.host, port: destination.port, options: options, tls: destination.tls, on: reactor,
            handler: self)
        self.transport = transport
        preface.withUnsafeBytes { transport.send($0) }
        exchange.head.bytes.withUnsafeBytes { transport.send($0) }
    }

    // MARK: From the client

    func clientSent(_ bytes: UnsafeRawBufferPointer) {
        guard !hasClientClosed else { return }
        let progress = clientFrames.advance(bytes.assumingMemoryBound(to: UInt8.self).span)
        var passed = bytes
        if case .closing = stage, let close = progress.close {
            // It answers our Close frame. The other gateway isn't told: the session is to wait for its client.
            passed = UnsafeRawBufferPointer(rebasing: bytes[..<close])
            hasClientClosed = true
        }
        if !passed.isEmpty { transport?.send(passed) }
        if hasClientClosed { return end(.closed) }
        guard waitingForGateway > limits.queueBytes, !pausesClient else { return }
        pausesClient = true
        touchClient()
    }

    /// At the end of a turn, after writing.
    func clientTook(waiting: Int) {
        if waiting < taken.waiting { taken.at = reactor.now }
        taken.waiting = waiting
        guard pausesTransport, waiting <= limits.queueBytes / 2 else { return }
        pausesTransport = false
        transport?.setReading(paused: false)
    }

    /// Its connection is gone, or has answered by itself.
    func clientGone() {
        connection = nil
        exchange = nil
        guard !isOver else { return }
        end(.inOrder)
    }

    var waitingForClient: Int { connection.map { $0.output.count + $0.unsentBytes } ?? 0 }
    var waitingForGateway: Int { transport?.queuedBytes ?? 0 }

    private func touchClient() {
        if let connection { reactor.touch(connection) }
    }

    // MARK: For the owner

    /// Ends the WebSocket with a Close frame of ours. The other gateway sees a client that is lost.
    func close(code: UInt16, reason: String) {
        switch stage {
        case .asking: fail(reason)
        case .relaying: sayClose(code: code, reason: reason)
        case .closing, .over: break
        }
    }

    // MARK: From the other gateway

    func tcpConnected() {}

    func tcpReceived(_ bytes: UnsafeRawBufferPointer) {
        lastHeard = reactor.now
        do throws(ForwardedAnswer.Fault) {
            switch stage {
            case .asking: begin(try answer.take(bytes))
            case .relaying: pass(try answer.take(bytes))
            case .closing, .over: break
            }
        } catch {
            lost("the answer is malformed: \(error)")
        }
    }

    private func begin(_ bytes: [UInt8]) {
        guard let status = answer.status, let exchange, let connection = exchange.connection else { return }
        stage = .relaying
        self.connection = connection
        exchange.connection = nil
        exchange.forward = nil
        self.exchange = nil
        guard connection.beginForwarding(self, bytes) else { return end(.inOrder) }
        report(.answered(status: status))
        if isSwitched { armIdle() }
    }

    private func pass(_ bytes: [UInt8]) {
        guard let connection, !bytes.isEmpty else { return }
        connection.queue(bytes)
        guard waitingForClient > limits.queueBytes, !pausesTransport else { return }
        pausesTransport = true
        taken = (reactor.now, waitingForClient)
        transport?.setReading(paused: true)
    }

    func tcpPeerFinished() {
        ended("it closed the connection")
    }

    func tcpWrote() {
        guard pausesClient, waitingForGateway <= limits.queueBytes / 2 else { return }
        pausesClient = false
        touchClient()
    }

    func tcpClosed(error: TCPError?) {
        transport = nil
        if isOver { timer.cancel() }
        ended(error?.description ?? "it closed the connection")
    }

    /// A refusal ends with its connection, and a WebSocket with the other gateway's Close frame.
    private func ended(_ reason: String) {
        switch stage {
        case .asking: fail(reason)
        case .relaying where !isSwitched || answer.hasClosed: end(.inOrder)
        case .relaying: lost(reason)
        case .closing, .over: break
        }
    }

    private func lost(_ reason: String) {
        if case .asking = stage { return fail(reason) }
        guard case .relaying = stage, isSwitched else { return end(.lost(reason)) }
        reportEnd(.lost(reason))
        sayClose(code: Self.lostCode, reason: Self.lostText)
    }

    // MARK: The end

    /// Service restart (RFC 6455's registry): the client may come back at once, and is told then whether there still is a session.
    static let lostCode: UInt16 = 1_012
    static let lostText = "gateway of the session was lost"

    private func sayClose(code: UInt16, reason: String) {
        guard let connection, isSwitched else { return end(.closed) }
        stage = .closing
        if !answer.hasClosed {
            let payload = [UInt8(code >> 8), UInt8(truncatingIfNeeded: code)] + Array(reason.utf8.prefix(123))
            connection.queue([0x88, UInt8(payload.count)] + payload)
        }
        timer.arm(at: reactor.now + UInt64(limits.closeMilliseconds) * 1_000_000, calling: self)
    }

    /// Before an answer.
    private func fail(_ reason: String) {
        guard case .asking = stage else { return }
        stage = .over
        dropTransport()
        exchange?.forward = nil
        exchange = nil
        hasReportedEnd = true
        report(.failed(reason))
    }

    private func end(_ end: ForwardEnd) {
        guard !isOver else { return }
        stage = .over
        reportEnd(end)
        if isSwitched { connection?.arm(limits.flushMilliseconds) }
        touchClient()
        guard transport != nil else { return timer.cancel() }
        // What is queued still goes out.
        transport?.finish()
        timer.arm(at: reactor.now + UInt64(limits.closeMilliseconds) * 1_000_000, calling: self)
    }

    private func reportEnd(_ end: ForwardEnd) {
        guard !hasReportedEnd else { return }
        hasReportedEnd = true
        report(.ended(end))
    }

    private func dropTransport() {
        timer.cancel()
        let dropped = transport
        transport = nil
        dropped?.drop()
    }

    private func armIdle() {
        timer.arm(at: lastHeard + idle, calling: self)
    }

    private var idle: UInt64 { UInt64(limits.idleSeconds) * 1_000_000_000 }

    func timerFired(now: UInt64) {
        switch stage {
        case .asking: break
        case .relaying where pausesTransport: checkClient(now)
        case .relaying where lastHeard + idle > now: armIdle()
        case .relaying: lost("it sent nothing for \(limits.idleSeconds) s")
        case .closing: end(.closed)
        case .over: dropTransport()
        }
    }

    /// While the client doesn't read, the other gateway isn't heard: neither its Close frame nor the end of its connection.
    private func checkClient(_ now: UInt64) {
        lastHeard = now
        guard taken.at + idle <= now else { return timer.arm(at: taken.at + idle, calling: self) }
        end(.lost("its client took nothing for \(limits.idleSeconds) s"))
        connection?.arm(0)
    }
}
