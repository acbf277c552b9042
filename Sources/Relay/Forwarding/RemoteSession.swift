import Admission
import ForwardingWire
import Logging
import Observability
import Reactors
import RelayCore
import StateCoding
import WireText

/// A session of another gateway that a client has asked for by a message, after its 101 from this one. On the link's loop only.
///
/// It asks the gateway that has the session for a WebSocket that resumes it, in the client's name, and then passes messages on in both directions. The client was
/// admitted here; the other gateway checks that it would still be (`Gate.evaluate(_:passedOnAs:)`), and decides about the session. If it refuses, the client is still
/// this gateway's, and may begin a session here.
final class RemoteSession: TCPHandler, TimerTarget {
    /// From dialling to the 101.
    static let answerMilliseconds: UInt64 = 10_000
    /// Of a client's input without content: so much costs it as much as a control frame.
    static let surplusBytes = 1_024
    /// What a frame that is passed on may cost beside its payload: a read of the socket, a TLS record, and the headers.
    static let allowanceBytes = 3 * TrafficMeter.stepBytes + 64

    private enum Stage {
        case asking, relaying
        /// The client's Close frame is awaited: what it has sent before is still passed on.
        case closing
        case over
    }

    let peer: FleetPeer
    private let forwarding: SessionForwarding
    private let limits: ForwardLimits
    private let settings: SessionSettings
    private let number: Int
    private let client: ClientIdentity
    private let loop: any SessionLoop
    private unowned let sessions: SessionTable
    /// Nil once this is over. It refers back until then.
    private var link: ClientLink?
    private var transport: (any TargetSocket)?
    private let timer: any SessionTimer
    private var stage = Stage.asking
    private var answer = ForwardedAnswer()
    /// To the client.
    private var messages = ForwardedMessages()
    /// From the client.
    private var input = ForwardedInput()
    private var surplus = 0
    /// The cost of input that the other gateway counts itself, since the last call of ``clientWasRead(octets:steps:)``.
    private var passedOn = 0
    private var hasClosed = false
    private var isClientPaused = false
    private var isPeerPaused = false
    private var lastHeard: UInt64 = 0
    /// When the client has last taken something.
    private var lastTaken: UInt64 = 0

    /// - Returns: nil if the other gateway can't be asked.
    init?(
        _ request: ResumeRequest, at peer: FleetPeer, for link: ClientLink, _ session: Session,
        _ forwarding: SessionForwarding
    ) {
        guard let principal = link.sessions.gate.carrier.carry(link.client.principal),
            let carried = try? StateEncoder.bytes(of: principal)
        else { return nil }
        var preface = ForwardPreface(
            client: SocketAddress(link.client.address, port: link.client.port), isTLS: link.client.isSecure,
            requestID: link.client.session)
        preface.principal = carried
        guard let preface = preface.encoded(), forwarding.enter() else { return nil }
        (self.peer, self.forwarding, self.link) = (peer, forwarding, link)
        (loop, sessions, client, settings) = (link.loop, link.sessions, link.client, session.settings)
        let destination = forwarding.destination(peer)
        limits = destination.limits
        timer = loop.makeTimer()
        number = link.sessions.forwards.makeNumber()
        let transport = loop.dial(
            host: destination.host, port: destination.port,
            options: DialOptions(timeoutMilliseconds: limits.dialMilliseconds), tls: destination.tls, handler: self)
        self.transport = transport
        sessions.forwards.insert(self, to: peer, as: number)
        timer.arm(at: loop.now + Self.answerMilliseconds * 1_000_000, calling: self)
        (preface + Self.head(of: session.request.target, request)).withUnsafeBytes { transport.send($0) }
    }

    /// An upgrade that names the session: without one the other gateway refuses it. The key has no meaning: nobody caches the answer.
    ///
    /// - Parameter request: whose id and token have been checked for their form.
    private static func head(of target: TargetRequest, _ request: ResumeRequest) -> [UInt8] {
        var path = "/"
        // The client may have written the name.
        if case .route(let name) = target, name.utf8.allSatisfy(isUnreserved) { path = "/mud/\(name)" }
        return Array(
            """
            GET \(path)?dialect=typed&session=\(request.sessionID)&token=\(request.token)&lastSeq=\(request.lastSeq) \
            HTTP/1.1\r\nHost: gateway\r\nConnection: Upgrade\r\nUpgrade: websocket\r
            Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n
            """.utf8)
    }

    /// RFC 3986 §2.3.
    private static func isUnreserved(_ byte: UInt8) -> Bool {
        switch Unicode.Scalar(byte) {
        case "0"..."9", "A"..."Z", "a"..."z", "-", ".", "_", "~": true
        default: false
        }
    }

    // MARK: From the client

    func clientSent(_ bytes: UnsafeRawBufferPointer, isText: Bool, isLast: Bool) {
        passedOn += bytes.count + Self.allowanceBytes
        send(input.header(ofPart: bytes.count, isText: isText, isLast: isLast), bytes)
        pauseClientIfFull()
    }

    /// Also what isn't for the session counts against its client's rate: the other gateway counts a ping for it.
    func clientSentControlFrame() {
        passedOn += Self.allowanceBytes
        send(ForwardedInput.ping)
        pauseClientIfFull()
    }

    /// What is passed on is counted by the other gateway. The rest, such as empty fragments and TLS records, costs its client control
    /// frames.
    func clientWasRead(octets: Int, steps: Int) {
        surplus += max(octets + steps * TrafficMeter.stepBytes - passedOn, 0)
        passedOn = 0
        guard surplus >= Self.surplusBytes else { return }
        surplus = 0
        send(ForwardedInput.ping)
        pauseClientIfFull()
    }

    private func pauseClientIfFull() {
        guard let transport, transport.queuedBytes > limits.queueBytes, !isClientPaused else { return }
        isClientPaused = true
        link?.socket?.setReading(paused: true)
    }

    func clientHeard() { send(ForwardedInput.pong) }

    func clientRead() {
        lastTaken = loop.now
        guard isPeerPaused, (link?.queuedBytes ?? 0) <= settings.session.clientBufferBytes / 2 else { return }
        isPeerPaused = false
        transport?.setReading(paused: false)
    }

    /// - Parameter code: of the client's Close frame.
    func clientClosed(code: UInt16?) {
        if stage == .closing { return end(.closed) }
        guard stage == .relaying, !hasClosed else { return }
        send(ForwardedInput.close(code: code))
        end(.inOrder)
    }

    func clientLost() { end(.inOrder) }

    /// - Parameter payload: of the frame, if the header doesn't contain it.
    private func send(
        _ header: [UInt8], _ payload: UnsafeRawBufferPointer = UnsafeRawBufferPointer(start: nil, count: 0)
    ) {
        guard stage == .relaying || stage == .closing, let transport else { return }
        header.withUnsafeBytes { transport.send($0) }
        transport.send(payload)
    }

    // MARK: From the other gateway

    func tcpConnected() {}

    func tcpReceived(_ bytes: UnsafeRawBufferPointer) {
        lastHeard = loop.now
        do throws(ForwardedAnswer.Fault) {
            let released = try answer.take(bytes)
            guard !released.isEmpty else { return }
            switch stage {
            case .asking: begin(released)
            case .relaying: deliver(released)
            case .closing, .over: break
            }
        } catch {
            lost("the answer is malformed: \(error)")
        }
    }

    private func begin(_ released: [UInt8]) {
        guard answer.isSwitched, let end = answer.headBytes else {
            return refused(answer.status ?? 0)
        }
        stage = .relaying
        settings.metrics.forwarded(.switched)
        log("upgrade passed on", [LogKeys.status: "101"])
        timer.arm(at: loop.now + UInt64(limits.idleSeconds) * 1_000_000_000, calling: self)
        guard link?.attach(self) == true else { return self.end(.inOrder) }
        deliver(Array(released[end...]))
    }

    private func deliver(_ frames: [UInt8]) {
        for event in messages.take(frames) where stage == .relaying {
            switch event {
            case .message(let bytes, let isText): deliver(bytes, isText: isText)
            case .ping: link?.socket?.ping()
            case .close(let code, let reason): closed(code, reason)
            case .malformed(let fault): lost("a malformed frame: \(fault)")
            }
        }
    }

    private func deliver(_ message: [UInt8], isText: Bool) {
        // It may contain a token: never compressed.
        message.withUnsafeBytes { link?.socket?.sendMessage($0, isText: isText, isSecret: true) }
        guard !isPeerPaused, (link?.queuedBytes ?? 0) > settings.session.clientBufferBytes else { return }
        isPeerPaused = true
        lastTaken = loop.now
        transport?.setReading(paused: true)
    }

    private func closed(_ code: UInt16?, _ reason: String) {
        send(ForwardedInput.close(code: code))
        hasClosed = true
        link?.socket?.close(code: code ?? 1_000, reason: reason)
        end(.inOrder)
    }

    func tcpPeerFinished() { lost("it closed the connection") }

    func tcpWrote() {
        guard isClientPaused, (transport?.queuedBytes ?? 0) <= limits.queueBytes / 2 else { return }
        isClientPaused = false
        link?.socket?.setReading(paused: false)
    }

    func tcpClosed(error: TCPError?) {
        transport = nil
        if stage == .over { return timer.cancel() }
        lost(error?.description ?? "it closed the connection")
    }

    // MARK: The end

    private func refused(_ status: Int) {
        settings.metrics.forwarded(.refused)
        log("upgrade passed on", [LogKeys.status: "\(status)"])
        let link = link
        end(.inOrder)
        link?.remoteFailed(status >= 500 || status == 429 ? .unavailable : .invalid)
    }

    private func lost(_ reason: String) {
        switch stage {
        case .asking:
            settings.metrics.forwarded(.failed)
            log("session not resumed", [LogKeys.detail: "\(reason)"])
            let link = link
            end(.inOrder)
            link?.remoteFailed(.unavailable)
        case .relaying:
            settings.metrics.forwarded(.lost)
            link?.close(.gatewayLost)
            end(.lost(reason))
        case .closing: end(.closed)
        case .over: break
        }
    }

    /// Passes no more messages on. What is queued for the other gateway still goes out.
    private func end(_ end: ForwardEnd) {
        guard stage != .over else { return }
        let hadClient = stage != .asking
        if hadClient {
            if case .lost(let reason) = end {
                log("upgrade passed on ended", [LogKeys.detail: "\(reason)"])
            } else {
                log("upgrade passed on ended")
            }
        }
        stage = .over
        sessions.forwards.remove(number)
        forwarding.leave()
        link?.remoteEnded(self)
        if hadClient { link?.expectClose(within: settings.session.closeFlush) }
        link = nil
        guard let transport else { return timer.cancel() }
        transport.finish()
        timer.arm(at: loop.now + UInt64(limits.closeMilliseconds) * 1_000_000, calling: self)
    }

    func timerFired(now: UInt64) {
        let idle = UInt64(limits.idleSeconds) * 1_000_000_000
        switch stage {
        case .asking: lost("it didn't answer in time")
        case .relaying where isPeerPaused && lastTaken + idle > now: timer.arm(at: lastTaken + idle, calling: self)
        case .relaying where isPeerPaused: link?.socket?.drop()
        case .relaying where lastHeard + idle > now: timer.arm(at: lastHeard + idle, calling: self)
        case .relaying: lost("it sent nothing for \(limits.idleSeconds) s")
        case .closing: end(.closed)
        case .over:
            let dropped = transport
            transport = nil
            dropped?.drop()
        }
    }

    private func log(_ text: Logger.Message, _ more: Logger.Metadata = [:]) {
        let metadata: Logger.Metadata = [
            LogKeys.requestID: "\(client.session)", LogKeys.address: "\(client.address.text)",
            LogKeys.gateway: "\(peer.id)",
        ]
        settings.logger.info(text, metadata: metadata.merging(more) { $1 })
    }
}

extension RemoteSession: ForwardedClient {
    func close(code: UInt16, reason: String) {
        guard stage == .relaying else { return stage == .asking ? lost(reason) : () }
        stage = .closing
        timer.arm(at: loop.now + UInt64(limits.closeMilliseconds) * 1_000_000, calling: self)
        link?.socket?.closeAfterInput(code: code, reason: reason)
    }
}

/// A client whose session another gateway has.
protocol ForwardedClient: AnyObject {
    func close(code: UInt16, reason: String)
}

extension ForwardedUpgrade: ForwardedClient {}
