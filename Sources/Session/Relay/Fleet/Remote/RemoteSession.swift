import Admission
import FleetWire
import Logging
import Observability
import Reactors
import RelayCore
import StateCoding
import WireText

/// A session of another gateway, for a client of this one: by its upgrade, before the 101, or by a message after it. On
/// the loop of the client only.
///
/// It asks the gateway that has the session for a WebSocket that resumes it, in the client's name, and then passes
/// messages on in both directions. This gateway admits the client, and the other one checks that it would admit it too
/// (`Gate.evaluate(_:passedOnAs:)`), and decides about the session. A client that has nothing but the session's token
/// isn't known here: the other gateway says whose the session is, and then this one decides about that client.
final class RemoteSession: TCPHandler, TimerTarget {
    /// From dialling to the 101, and to this gateway's own decision behind it.
    static let answerMilliseconds: UInt64 = 10_000
    /// Of a client's input without content: so much costs it as much as a control frame.
    static let surplusBytes = 1_024
    /// What a frame that is passed on may cost beside its payload: a read of the socket, a TLS record, and the headers.
    static let allowanceBytes = 3 * TrafficMeter.stepBytes + 64

    private enum Stage {
        case asking
        /// The other gateway has yet to say whose the session is.
        case introducing
        /// The other gateway has agreed; the client hasn't got it yet.
        case agreed
        case relaying
        /// The client's Close frame is awaited: what it has sent before is still passed on.
        case closing
        case over
    }

    let peer: FleetPeer
    private let fleetRelay: FleetRelay
    private let limits: RelayLimits
    private let settings: SessionSettings
    private let number: Int
    /// Of the client, whose form for the other gateway isn't kept.
    private let requestID: String
    private let address: SocketAddress
    /// The other gateway has been told who the client is.
    private let isTold: Bool
    private let loop: any SessionLoop
    private unowned let sessions: SessionTable
    /// Nil once it has its answer. It may refer back until then.
    private var asker: (any RemoteAsker)?
    /// Nil before ``attach(to:)``, and once this is over. It refers back until then.
    private var link: ClientLink?
    private var transport: (any TargetSocket)?
    private let timer: any SessionTimer
    private var stage = Stage.asking
    private var answer = RelayedAnswer()
    /// To the client.
    private var messages = RelayedMessages()
    /// They came before the client's link.
    private var waiting: [RelayedMessages.Event] = []
    /// From the client.
    private var input = RelayedInput()
    private var surplus = 0
    /// The cost of input that the other gateway counts itself, since the last call of ``clientWasRead(octets:steps:)``.
    private var passedOn = 0
    /// The other gateway has sent a Close frame, and gets the client's answer.
    private var awaitsAnswer = false
    private var isClientPaused = false
    private var isPeerPaused = false
    private var lastHeard: UInt64 = 0
    /// When the client has last taken something.
    private var lastTaken: UInt64 = 0

    var isOver: Bool { stage == .over }

    /// - Parameter asker: gets the answer, also before this returns if the other gateway can't be dialled at all.
    /// - Returns: nil if too many clients have their sessions elsewhere.
    init?(
        _ request: RemoteRequest, of client: RemoteClient, at peer: FleetPeer, _ fleetRelay: FleetRelay,
        settings: SessionSettings, sessions: SessionTable, loop: any SessionLoop, for asker: any RemoteAsker
    ) {
        guard let preface = client.preface.encoded(), fleetRelay.enter() else { return nil }
        (self.peer, self.fleetRelay, self.asker) = (peer, fleetRelay, asker)
        (requestID, address, isTold) = (client.requestID, client.address, client.principal != nil)
        (self.loop, self.sessions, self.settings) = (loop, sessions, settings)
        let destination = fleetRelay.destination(peer)
        limits = destination.limits
        timer = loop.makeTimer()
        number = sessions.relays.makeNumber()
        sessions.relays.insert(self, to: peer, as: number)
        timer.arm(at: loop.now + Self.answerMilliseconds * 1_000_000, calling: self)
        let transport = loop.dial(
            host: destination.host, port: destination.port,
            options: DialOptions(timeoutMilliseconds: limits.dialMilliseconds), tls: destination.tls, handler: self)
        guard stage == .asking else { return }
        self.transport = transport
        (preface + Self.head(of: request)).withUnsafeBytes { transport.send($0) }
    }

    /// An upgrade that names the session: without one the other gateway refuses it. The key has no meaning: nobody
    /// caches the answer.
    private static func head(of request: RemoteRequest) -> [UInt8] {
        var path = "/"
        // The client may have written the name.
        if case .route(let name) = request.target, name.utf8.allSatisfy(isUnreserved) { path = "/mud/\(name)" }
        let resume = request.resume
        let dialect = request.dialect.map { "dialect=\($0.rawValue)&" } ?? ""
        return Array(
            """
            GET \(path)?\(dialect)session=\(resume.sessionID)&token=\(resume.token)\
            &lastSeq=\(resume.lastSeq) HTTP/1.1\r\nHost: gateway\r\nConnection: Upgrade\r\nUpgrade: websocket\r
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
        send(RelayedInput.ping)
        pauseClientIfFull()
    }

    /// What is passed on is counted by the other gateway. The rest, such as empty fragments and TLS records, costs its
    /// client control frames.
    func clientWasRead(octets: Int, steps: Int) {
        surplus += max(octets + steps * TrafficMeter.stepBytes - passedOn, 0)
        passedOn = 0
        guard surplus >= Self.surplusBytes else { return }
        surplus = 0
        send(RelayedInput.ping)
        pauseClientIfFull()
    }

    private func pauseClientIfFull() {
        guard let transport, transport.queuedBytes > limits.queueBytes, !isClientPaused else { return }
        isClientPaused = true
        link?.socket?.setReading(paused: true)
    }

    func clientHeard() { send(RelayedInput.pong) }

    func clientRead() {
        lastTaken = loop.now
        guard isPeerPaused, (link?.queuedBytes ?? 0) <= limits.queueBytes / 2 else { return }
        isPeerPaused = false
        transport?.setReading(paused: false)
    }

    /// - Parameter code: of the client's Close frame.
    func clientClosed(code: UInt16?) {
        guard stage == .relaying || awaitsAnswer else { return end(.closed) }
        send(RelayedInput.close(code: code))
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
        do throws(RelayedAnswer.Fault) {
            let frames = try answer.take(bytes)
            switch stage {
            case .asking where answer.status != nil: answered(frames)
            case .introducing:
                waiting += messages.take(frames)
                introduce()
            case .agreed: waiting += messages.take(frames)
            case .relaying: deliver(messages.take(frames))
            case .asking, .closing, .over: break
            }
        } catch {
            lost("the answer is malformed: \(error)")
        }
    }

    private func answered(_ frames: [UInt8]) {
        guard answer.isSwitched else { return refused(answer.status ?? 0) }
        settings.metrics.relayedElsewhere(.switched)
        log("upgrade passed on", [LogKeys.status: "101"])
        waiting = messages.take(frames)
        guard isTold else {
            stage = .introducing
            return introduce()
        }
        agree(as: nil)
    }

    /// The first message isn't the session's.
    private func introduce() {
        guard let first = waiting.first else { return }
        guard let principal = first.introduced else { return lost("it didn't say whose the session is") }
        waiting.removeFirst()
        agree(as: principal)
    }

    /// Nothing more is read until the client has its link.
    private func agree(as principal: [UInt8]?) {
        stage = .agreed
        transport?.setReading(paused: true)
        let asker = asker
        self.asker = nil
        asker?.remoteAgreed(self, as: principal)
    }

    /// The client's WebSocket, to which the session belongs from here on.
    func attach(to link: ClientLink) {
        guard stage == .agreed else {
            link.remoteEnded(self)
            link.close(.gatewayLost)
            return link.expectClose(within: settings.session.closeFlush)
        }
        self.link = link
        stage = .relaying
        lastHeard = loop.now
        timer.arm(at: loop.now + UInt64(limits.idleSeconds) * 1_000_000_000, calling: self)
        transport?.setReading(paused: false)
        let events = waiting
        waiting = []
        deliver(events)
    }

    /// The client has left, or isn't admitted. Its session waits for it.
    func abandon() {
        asker = nil
        end(.inOrder)
    }

    private func deliver(_ events: [RelayedMessages.Event]) {
        for event in events where stage == .relaying {
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
        guard !isPeerPaused, (link?.queuedBytes ?? 0) > limits.queueBytes else { return }
        isPeerPaused = true
        lastTaken = loop.now
        transport?.setReading(paused: true)
    }

    /// What the client has sent before it hears of this is still passed on, and its answer behind that.
    private func closed(_ code: UInt16?, _ reason: String) {
        awaitsAnswer = true
        close(code: code ?? 1_000, reason: reason)
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
        settings.metrics.relayedElsewhere(.refused)
        log("upgrade passed on", [LogKeys.status: "\(status)"])
        guard !answer.isSessionUnknown else { return fail(.unknown) }
        fail(.refused(status: status, code: answer.refusalCode, isTokenWrong: answer.isTokenWrong))
    }

    private func lost(_ reason: String) {
        switch stage {
        case .asking, .introducing:
            settings.metrics.relayedElsewhere(.failed)
            log("session not resumed", [LogKeys.detail: "\(reason)"])
            fail(.unreachable(reason))
        case .agreed: end(.lost(reason))
        case .relaying:
            settings.metrics.relayedElsewhere(.lost)
            link?.close(.gatewayLost)
            end(.lost(reason))
        case .closing: end(.closed)
        case .over: break
        }
    }

    private func fail(_ failure: RemoteFailure) {
        let asker = asker
        self.asker = nil
        end(.inOrder)
        asker?.remoteFailed(failure)
    }

    /// Passes no more messages on. What is queued for the other gateway still goes out.
    private func end(_ end: RelayEnd) {
        guard stage != .over else { return }
        let hadClient = link != nil
        if hadClient {
            if case .lost(let reason) = end {
                log("upgrade passed on ended", [LogKeys.detail: "\(reason)"])
            } else {
                log("upgrade passed on ended")
            }
        }
        stage = .over
        waiting = []
        sessions.relays.remove(number)
        fleetRelay.leave()
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
        case .asking, .introducing, .agreed: lost("it didn't answer in time")
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
            LogKeys.requestID: "\(requestID)", LogKeys.address: "\(address.address.text)",
            LogKeys.gateway: "\(peer.id)",
        ]
        settings.logger.info(text, metadata: metadata.merging(more) { $1 })
    }
}

extension RemoteSession: RelayedClient {
    var admitted: ClientIdentity? { link?.client }

    func close(code: UInt16, reason: String) {
        guard stage == .relaying else { return stage == .closing ? () : lost(reason) }
        stage = .closing
        let patience = awaitsAnswer ? settings.session.closeFlush : UInt64(limits.closeMilliseconds) * 1_000_000
        timer.arm(at: loop.now + patience, calling: self)
        link?.socket?.closeAfterInput(code: code, reason: reason, within: patience)
    }
}
