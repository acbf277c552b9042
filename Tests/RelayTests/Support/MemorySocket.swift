import WireText

@testable import Reactors
@testable import Relay

/// A client's WebSocket, with both of its ends.
final class MemorySocket: ClientSocket {
    private let loop: TestLoop
    private var link: ClientLink?
    private var isPaused = false
    private(set) var isClosed = false
    private(set) var pings = 0
    private(set) var isCompressing = true
    var isCompressed = false
    private(set) var wireBytesRead = 0
    private(set) var wireBytesWritten = 0
    /// The same without frame headers.
    private(set) var payloadRead = 0
    private(set) var payloadWritten = 0
    /// From the gateway, on the way; bytes of a stream are messages as they come.
    private var queue: [Message] = []
    /// The bytes that the client has read.
    private(set) var messages: [Message] = []
    /// From the client, not read by the gateway yet.
    private var unread: [Message] = []
    /// The client reads what comes at once, and answers Close frames and pings.
    var reads = true
    var answersClose = true
    var answersPings = true
    private var unansweredPings = 0
    /// The gateway's Close frame, and whether the client has read it.
    private(set) var closeFrame: (code: UInt16, reason: String)?
    /// What the client has sent before its Close frame is still delivered, and then that.
    private var deliversRest: Bool { inputLimit != nil }
    /// The limit that the gateway has set for that.
    private(set) var inputLimit: UInt64?
    private(set) var closesOrdered = 0
    private var hasClosed = false

    struct Message {
        var bytes: [UInt8]
        var isText: Bool
        var isFirst = true
        var isLast = true

        var text: String { String(decoding: bytes, as: UTF8.self) }
    }

    init(_ link: ClientLink, on loop: TestLoop) {
        self.link = link
        self.loop = loop
    }

    // MARK: The gateway's end

    var queuedBytes: Int { queue.reduce(0) { $0 + $1.bytes.count } }

    func send(_ bytes: UnsafeRawBufferPointer) { append(Array(bytes), isText: false) }

    func sendMessage(_ bytes: UnsafeRawBufferPointer, isText: Bool, isSecret: Bool) {
        append(Array(bytes), isText: isText)
    }

    private func append(_ bytes: [UInt8], isText: Bool) {
        loop.preconditionOnThread()
        guard !isClosed, closeFrame == nil else { return }
        queue.append(Message(bytes: bytes, isText: isText))
        wireBytesWritten += bytes.count + 2
        payloadWritten += bytes.count
    }

    func setCompressing(_ isCompressing: Bool) { self.isCompressing = isCompressing }

    func setReading(paused: Bool) {
        loop.preconditionOnThread()
        isPaused = paused
    }

    func ping() {
        loop.preconditionOnThread()
        pings += 1
        unansweredPings += 1
    }

    func close(code: UInt16, reason: String) {
        loop.preconditionOnThread()
        closesOrdered += 1
        if closeFrame == nil { closeFrame = (code, reason) }
    }

    func closeAfterInput(code: UInt16, reason: String, within nanoseconds: UInt64) {
        inputLimit = nanoseconds
        close(code: code, reason: reason)
    }

    func drop() {
        loop.preconditionOnThread()
        end()
    }

    var isRead: Bool { !isPaused }

    // MARK: The client's end

    func send(text: String) { unread.append(Message(bytes: Array(text.utf8), isText: true)) }
    func send(_ message: Message) { unread.append(message) }
    var unreadCount: Int { unread.count }

    /// Nothing goes over the network any more, in either direction, and neither end knows.
    func vanish() {
        unread = []
        reads = false
        answersPings = false
    }

    /// The client has read the gateway's Close frame.
    var isClosedByGateway: Bool { closeFrame != nil && queue.isEmpty }

    /// Reads some of the messages that wait.
    func read(_ count: Int) {
        let taken = min(count, queue.count)
        guard taken > 0, !isClosed else { return }
        messages += queue.prefix(taken)
        queue.removeFirst(taken)
        loop.inCallback { link?.webSocketWrote() }
    }

    /// Sends a Close frame, and ends the connection.
    func close(_ code: UInt16?) {
        guard !isClosed, !hasClosed else { return }
        hasClosed = true
        loop.inCallback { link?.webSocketPeerClosed(code: code) }
        lose()
    }

    func violate(_ code: UInt16) {
        loop.inCallback { link?.webSocketPeerFailed(code: code) }
        lose()
    }

    /// The connection ends without a Close frame.
    func lose() { loop.inCallback { end() } }

    private func end() {
        guard !isClosed else { return }
        isClosed = true
        queue = []
        unread = []
        let link = link
        self.link = nil
        link?.webSocketClosed()
    }

    /// - Returns: whether anything was done.
    func deliver() -> Bool {
        guard !isClosed else { return false }
        if reads, !queue.isEmpty {
            read(.max)
            return true
        }
        if answersPings, !isPaused, unansweredPings > 0, queue.isEmpty {
            unansweredPings = 0
            loop.inCallback { link?.webSocketHeardPong() }
            return true
        }
        if let closeFrame, !deliversRest || unread.isEmpty {
            guard answersClose, queue.isEmpty else { return false }
            hasClosed = true
            if deliversRest { loop.inCallback { link?.webSocketPeerClosed(code: closeFrame.code) } }
            lose()
            return true
        }
        guard !isPaused, !unread.isEmpty else { return false }
        let message = unread.removeFirst()
        wireBytesRead += message.bytes.count + 6
        payloadRead += message.bytes.count
        loop.inCallback {
            message.bytes.withUnsafeBytes {
                link?.webSocketReceived(
                    MessagePiece(bytes: $0, isText: message.isText, isFirst: message.isFirst, isLast: message.isLast))
            }
            // Each is a frame in a TLS record that a read of the socket has delivered.
            link?.webSocketWasRead(octets: message.bytes.count + 6, steps: 3)
        }
        return true
    }
}
