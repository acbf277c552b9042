import Admission
import Observability
import Reactors
import RelayCore

/// One client's WebSocket, from the 101 to its close, and the session that it has at the moment. On its loop only.
///
/// A session outlives its link when it can be resumed; then the link of the client that comes back gets it, and drops the one that it
/// began with: see `ClientLink+Resume`. A link whose session another one has taken closes its WebSocket and ends.
///
/// The WebSocket holds the link as its handler until it is closed. A link and its session hold each other.
final class ClientLink: WebSocketHandler, TimerTarget {
    let client: ClientIdentity
    let loop: any SessionLoop
    unowned let sessions: SessionTable
    /// Nil before it is open and after it is closed.
    private(set) var socket: (any ClientSocket)?
    /// Nil once the session has ended, has lost this client or has gone to another link.
    var session: Session?
    /// The session that the client asks for, until it is here or can't be had.
    var resumption: Resumption?
    /// The client was told a new token, and hasn't shown yet that it has it.
    var awaitsConfirmation = false

    /// The client was told to come back to another process: however its WebSocket ends, the session waits for it.
    private(set) var isSentAway = false

    /// How the session ends if it ends by this WebSocket.
    private var endReason = EndReason.clientLost
    /// Of the message that is arriving.
    private var messageBytes = 0
    /// Bytes of frames that have been counted.
    private var counted = (fromClient: 0, toClient: 0)
    private var farewell: Farewell?

    /// What remains of a link without a session: the WebSocket is closed, and cut off at the deadline.
    private struct Farewell {
        let timer: any SessionTimer
        /// Of the session that has gone: the connection counts as one until it is closed.
        let globalLease: SessionLease?
    }

    init(_ session: Session) {
        self.session = session
        client = session.client
        loop = session.loop
        sessions = session.sessions
    }

    // MARK: From the WebSocket

    func webSocketOpened(_ webSocket: WebSocketConnection) { opened(webSocket) }

    func opened(_ socket: any ClientSocket) {
        self.socket = socket
        session?.opened(on: self)
    }

    func webSocketReceived(_ piece: MessagePiece) { session?.clientSent(piece, over: self) }

    func webSocketReceivedControlFrame(bytes: Int) { session?.count(bytes: bytes, isMessage: true) }

    /// Otherwise empty blocks could come at any rate.
    func webSocketReceivedSurplus(bytes: Int) { session?.count(bytes: bytes, isMessage: false) }

    func webSocketHeardPong() {
        guard let session else { return }
        session.clientHeard()
        confirmToken(of: session)
    }

    func webSocketPeerClosed(code: UInt16?) {
        resumption?.closeCode = code
        if isSentAway { session?.clientLost(.clientClosed) } else { session?.clientClosed(code: code) }
    }

    /// A message over its limit on the wire, or a malformed frame.
    func webSocketPeerFailed(code: UInt16) {
        endReason = code == 1009 ? .messageTooBig : .clientProtocolError
    }

    func webSocketWrote() { session?.clientRead() }

    func webSocketClosed() {
        noteFrames()
        socket = nil
        endFarewell()
        session?.clientLost(endReason)
    }

    // MARK: For the session

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
    func sendAway(_ reason: CloseReason) {
        guard !isSentAway else { return }
        isSentAway = true
        socket?.closeAfterInput(code: reason.code, reason: reason.text)
    }

    /// Counts what the WebSocket's frames have taken since they were counted last: at each ping, and when the session leaves the link.
    func noteFrames() {
        guard let socket, let session else { return }
        let (read, written) = (socket.wireBytesRead, socket.wireBytesWritten)
        session.noteFrames(read - counted.fromClient, written - counted.toClient)
        counted = (read, written)
    }

    /// The session has ended, or goes on without this link.
    func leaveSession() {
        noteFrames()
        session = nil
    }

    // MARK: Without a session

    /// Another link has the session: closes the WebSocket, and cuts it off if it isn't closed in time.
    func sayReplaced(keeping globalLease: SessionLease?, timeout: UInt64) {
        guard let socket else { return }
        let timer = loop.makeTimer()
        farewell = Farewell(timer: timer, globalLease: globalLease)
        sessions.insert(self)
        timer.arm(at: loop.now + timeout, calling: self)
        socket.close(code: CloseReason.sessionReplaced.code, reason: CloseReason.sessionReplaced.text)
    }

    func timerFired(now: UInt64) { socket?.drop() }

    private func endFarewell() {
        guard let farewell else { return }
        self.farewell = nil
        farewell.timer.cancel()
        sessions.remove(self)
    }
}
