import Admission
import Observability
import Reactors
import RelayCore

/// One client's WebSocket, from the 101 to its close, and its current session or newcomer. On its loop only.
///
/// It begins with a `Newcomer`. A session that can be resumed outlives its link; the link of the resuming client then
/// gets it: see `ClientLink+Resume`. A link whose session was taken over closes its WebSocket and ends.
///
/// The WebSocket holds the link as its handler until it is closed. A link and its session hold each other.
final class ClientLink: WebSocketHandler, TimerTarget {
    let client: ClientIdentity
    let loop: any SessionLoop
    unowned let sessions: SessionTable
    /// Nil before it is open and after it is closed.
    private(set) var socket: (any ClientSocket)?
    /// Nil before the WebSocket is open, and once the session has ended, no longer has this client, or belongs to
    /// another link.
    var stage: SessionStage?
    /// Nil once the session has begun or has been resumed, and while another gateway has it.
    var arrival: Arrival?
    /// The session that the client has requested, until it is here or the request has failed.
    var resumption: Resumption?
    /// Set while another gateway has the session; this link has none then.
    var remote: RemoteSession?
    /// The client was sent a new token and hasn't confirmed it yet.
    var awaitsConfirmation = false

    /// The client was told to reconnect to another process: however its WebSocket ends, the session waits for it.
    private(set) var isSentAway = false

    /// The reason of the session's end if this WebSocket causes it.
    private var endReason = EndReason.clientLost
    /// The size of the message that is arriving.
    private var messageBytes = 0
    /// Bytes of frames that have been counted.
    private var counted = (fromClient: 0, toClient: 0)
    private var farewell: Farewell?

    /// A link without a session: its WebSocket is being closed, and is dropped at the deadline.
    private struct Farewell {
        let timer: any SessionTimer
        /// The lease of the former session: the connection counts as one until it is closed.
        let globalLease: SessionLease?
    }

    /// The client of another gateway that has yet to learn who it is: the first message says so. Nil once it is sent.
    private var introduction: [UInt8]?

    /// - Parameters:
    ///   - arrival: what begins once the WebSocket is open.
    ///   - remote: instead, a session that another gateway has agreed to give away.
    init(
        _ client: ClientIdentity, _ arrival: Arrival?, _ remote: RemoteSession? = nil,
        introducing principal: [UInt8]? = nil, sessions: SessionTable, loop: any SessionLoop
    ) {
        self.client = client
        self.arrival = arrival
        self.remote = remote
        self.sessions = sessions
        self.loop = loop
        introduction = principal
    }

    // MARK: From the WebSocket

    func webSocketOpened(_ webSocket: WebSocketConnection) { opened(webSocket) }

    func opened(_ socket: any ClientSocket) {
        self.socket = socket
        if let introduction {
            introduction.withUnsafeBytes { socket.sendMessage($0, isText: false, isSecret: true) }
            self.introduction = nil
        }
        remote?.attach(to: self)
        if let arrival { Newcomer.begin(on: self, arrival) }
    }

    func webSocketReceived(_ piece: MessagePiece) {
        guard let remote else {
            stage?.clientSent(piece, over: self)
            return
        }
        remote.clientSent(piece.bytes, isText: piece.isText, isLast: piece.isLast)
    }

    func webSocketReceivedControlFrame(bytes: Int) {
        stage?.countMessage()
        remote?.clientSentControlFrame()
    }

    func webSocketWasRead(octets: Int, steps: Int) {
        stage?.count(octets: octets, steps: steps)
        remote?.clientWasRead(octets: octets, steps: steps)
    }

    func webSocketHeardPong() {
        remote?.clientHeard()
        guard let stage else { return }
        stage.clientHeard()
        confirmToken(of: stage)
    }

    func webSocketPeerClosed(code: UInt16?) {
        resumption?.closeCode = code
        remote?.clientClosed(code: code)
        if isSentAway { stage?.clientLost(.clientClosed) } else { stage?.clientClosed(code: code) }
    }

    /// A message over its limit on the wire, or a malformed frame.
    func webSocketPeerFailed(code: UInt16) {
        endReason = code == 1009 ? .messageTooBig : .clientProtocolError
    }

    func webSocketWrote() {
        stage?.clientRead()
        remote?.clientRead()
    }

    func webSocketClosed() {
        noteFrames()
        socket = nil
        endFarewell()
        stage?.clientLost(endReason)
        remote?.clientLost()
    }

    // MARK: For the session

    var session: Session? { stage as? Session }

    /// Until the session begins, or has come.
    var newcomer: Newcomer? { stage as? Newcomer }

    /// Bytes that wait for the client.
    var queuedBytes: Int { socket?.queuedBytes ?? 0 }

    var isCompressed: Bool { socket?.isCompressed ?? false }

    /// Counts a piece of a message.
    ///
    /// - Returns: false where the message has become larger than `limit`.
    func fits(_ piece: MessagePiece, in limit: Int) -> Bool {
        messageBytes = piece.bytes.count + (piece.isFirst ? 0 : messageBytes)
        return messageBytes <= limit
    }

    func ping() {
        noteFrames()
        socket?.ping()
    }

    func close(_ reason: CloseReason) { socket?.close(code: reason.code, reason: reason.text) }

    /// Closes the WebSocket, behind what is queued; what the client has sent before its own Close frame still comes.
    ///
    /// - Parameter limit: for the client's Close frame, from ours on.
    func sendAway(_ reason: CloseReason, within limit: UInt64) {
        guard !isSentAway else { return }
        isSentAway = true
        socket?.closeAfterInput(code: reason.code, reason: reason.text, within: limit)
    }

    /// Counts what the WebSocket's frames have taken since they were counted last: at each ping, and when the session
    /// leaves the link.
    func noteFrames() {
        guard let socket, let stage else { return }
        let (read, written) = (socket.wireBytesRead, socket.wireBytesWritten)
        stage.noteFrames(read - counted.fromClient, written - counted.toClient)
        counted = (read, written)
    }

    /// The session has ended, or continues without this link.
    func leaveSession() {
        noteFrames()
        stage = nil
    }

    // MARK: Without a session

    /// Another link has the session: closes the WebSocket, and drops it if it isn't closed in time.
    func sayReplaced(keeping globalLease: SessionLease?, timeout: UInt64) {
        guard let socket else { return }
        expectClose(within: timeout, keeping: globalLease)
        socket.close(code: CloseReason.sessionReplaced.code, reason: CloseReason.sessionReplaced.text)
    }

    /// The WebSocket is being closed, and is dropped if that takes longer.
    func expectClose(within timeout: UInt64, keeping globalLease: SessionLease? = nil) {
        guard socket != nil, farewell == nil else { return }
        let timer = loop.makeTimer()
        farewell = Farewell(timer: timer, globalLease: globalLease)
        sessions.insert(self)
        timer.arm(at: loop.now + timeout, calling: self)
    }

    func timerFired(now: UInt64) { socket?.drop() }

    private func endFarewell() {
        guard let farewell else { return }
        self.farewell = nil
        farewell.timer.cancel()
        sessions.remove(self)
    }
}
