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
/// It opens a WebSocket to the gateway that has the session, asks for it there in the client's name, and then passes messages on in both directions. The client was
/// admitted here; the other gateway checks that it would still be (`Gate.readmit`), and decides about the session.
final class RemoteSession: TCPHandler, TimerTarget {
    /// From dialling to the 101.
    static let answerMilliseconds: UInt64 = 10_000
    /// Of one message to the client, whose fragments are joined here.
    static let maximumMessageBytes = 1_048_576
    /// Of a client's input without content: so much costs it as much as a control frame.
    static let surplusBytes = 1_024

    private enum Stage {
        case asking, relaying
        /// The client's Close frame is awaited: what it has sent before is still passed on.
        case closing
        case over
    }

    let peer: FleetPeer
    private let request: ResumeRequest
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
    /// The message that is arriving for the client.
    private var message: (bytes: [UInt8], isText: Bool) = ([], false)
    private var isWithinClientMessage = false
    private var surplus = 0
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
        (self.peer, self.request, self.forwarding, self.link) = (peer, request, forwarding, link)
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
        (preface + Self.head(of: session.request.target)).withUnsafeBytes { transport.send($0) }
    }

    /// The upgrade of a client that names no session yet. The key has no meaning: nobody caches the answer.
    private static func head(of target: TargetRequest) -> [UInt8] {
        var path = "/"
        // The client may have written the name.
        if case .route(let name) = target, name.utf8.allSatisfy(isUnreserved) { path = "/mud/\(name)" }
        return Array(
            """
            GET \(path)?dialect=typed HTTP/1.1\r\nHost: gateway\r\nConnection: Upgrade\r\nUpgrade: websocket\r
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

    private var resume: [UInt8] {
        var json = JSONWriter()
        json.member("type", "resume")
        json.member("sessionId", request.sessionID)
        json.member("token", request.token)
        json.member("lastSeq", Int64(clamping: request.lastSeq))
        return json.object
    }

    // MARK: From the client

    func clientSent(_ bytes: UnsafeRawBufferPointer, isText: Bool, isLast: Bool) {
        let opcode: UInt8 = isWithinClientMessage ? 0 : isText ? 1 : 2
        isWithinClientMessage = !isLast
        send(opcode, bytes, isFinal: isLast)
        pauseClientIfFull()
    }

    /// Also what isn't for the session counts against its client's rate: the other gateway counts a ping for it.
    func clientSentControlFrame() {
        send(9, UnsafeRawBufferPointer(start: nil, count: 0))
        pauseClientIfFull()
    }

    func clientSentSurplus(bytes: Int) {
        surplus += bytes
        guard surplus >= Self.surplusBytes else { return }
        surplus = 0
        clientSentControlFrame()
    }

    private func pauseClientIfFull() {
        guard let transport, transport.queuedBytes > limits.queueBytes, !isClientPaused else { return }
        isClientPaused = true
        link?.socket?.setReading(paused: true)
    }

    func clientHeard() { send(10, UnsafeRawBufferPointer(start: nil, count: 0)) }

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
        let payload = code.map { [UInt8($0 >> 8), UInt8(truncatingIfNeeded: $0)] } ?? []
        payload.withUnsafeBytes { send(8, $0) }
        end(.inOrder)
    }

    func clientLost() { end(.inOrder) }

    /// A client's frame (RFC 6455 §5.2). Its mask protects intermediaries, of which there are none: it is zero.
    private func send(_ opcode: UInt8, _ payload: UnsafeRawBufferPointer, isFinal: Bool = true) {
        guard stage == .relaying || stage == .closing, let transport else { return }
        var header: [UInt8] = [(isFinal ? 0x80 : 0) | opcode]
        switch payload.count {
        case ..<126: header.append(0x80 | UInt8(payload.count))
        case ..<65_536: header += [0xFE, UInt8(payload.count >> 8), UInt8(truncatingIfNeeded: payload.count)]
        default:
            header.append(0xFF)
            header += (0..<8).reversed().map { UInt8(truncatingIfNeeded: payload.count >> (8 * $0)) }
        }
        header += [0, 0, 0, 0]
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
            case .relaying: deliver(released[...])
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
        resume.withUnsafeBytes { send(1, $0) }
        guard link?.attach(self) == true else { return self.end(.inOrder) }
        deliver(released[end...])
    }

    /// - Parameter frames: whole ones.
    private func deliver(_ frames: ArraySlice<UInt8>) {
        var rest = frames
        while stage == .relaying, rest.count >= 2 {
            let first = rest[rest.startIndex]
            var (length, start) = (Int(rest[rest.startIndex + 1] & 0x7F), 2)
            if length >= 126 {
                start = length == 126 ? 4 : 10
                guard rest.count >= start else { return lost("a frame without its header") }
                length = rest.dropFirst(2).prefix(start - 2).reduce(0) { $0 << 8 | Int($1) }
            }
            guard length >= 0, rest.count - start >= length, first & 0x70 == 0 else { return lost("a malformed frame") }
            let payload = rest.dropFirst(start).prefix(length)
            rest = rest.dropFirst(start + length)
            receive(first & 0x0F, payload, isFinal: first & 0x80 != 0)
        }
    }

    private func receive(_ opcode: UInt8, _ payload: ArraySlice<UInt8>, isFinal: Bool) {
        switch opcode {
        case 0, 1, 2:
            if opcode != 0 { message = ([], opcode == 1) }
            guard message.bytes.count + payload.count <= Self.maximumMessageBytes else {
                return lost("a message is too long")
            }
            message.bytes += payload
            guard isFinal else { return }
            // It may contain a token: never compressed.
            message.bytes.withUnsafeBytes {
                link?.socket?.sendMessage($0, isText: message.isText, isSecret: true)
            }
            message.bytes = []
            guard !isPeerPaused, (link?.queuedBytes ?? 0) > settings.session.clientBufferBytes else { return }
            isPeerPaused = true
            lastTaken = loop.now
            transport?.setReading(paused: true)
        case 8: closed(payload)
        case 9: link?.socket?.ping()
        default: break
        }
    }

    private func closed(_ payload: ArraySlice<UInt8>) {
        let code = payload.count >= 2 ? payload.prefix(2).reduce(0) { $0 << 8 | UInt16($1) } : 1_000
        Array(payload.prefix(2)).withUnsafeBytes { send(8, $0) }
        hasClosed = true
        let reason = String(decoding: payload.dropFirst(2), as: UTF8.self)
        link?.socket?.close(code: code, reason: reason)
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

extension ClientLink {
    /// Looks for a session that this gateway hasn't. Input is held meanwhile.
    ///
    /// - Returns: false if it can't be anywhere else.
    func seekElsewhere(_ request: ResumeRequest, _ session: Session) -> Bool {
        guard mayForward, let forwarding = session.settings.forwarding, SessionIdentity.isID(request.sessionID),
            session.dialectKind == .typed, !session.settings.drain.isDraining, !session.settings.drain.isHandingOver
        else { return false }
        holdForRemote(session)
        let here = LoopBound(self, to: loop)
        forwarding.find(request.sessionID) { found in
            here.loop.submit { here.value.found(found, request, forwarding) }
        }
        return true
    }

    private func found(_ found: Whereabouts, _ request: ResumeRequest, _ forwarding: SessionForwarding) {
        guard let session, resumption != nil else { return }
        switch found {
        case .unknown: remoteFailed(.expired)
        case .unavailable: remoteFailed(.unavailable)
        case .elsewhere where session.settings.drain.isDraining || session.settings.drain.isHandingOver:
            remoteFailed(.unavailable)
        case .elsewhere(let peer):
            // It holds itself until it is over.
            if RemoteSession(request, at: peer, for: self, session, forwarding) == nil { remoteFailed(.unavailable) }
        }
    }
}
