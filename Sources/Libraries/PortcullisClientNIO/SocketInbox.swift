import NIOConcurrencyHelpers
import PortcullisClient

/// Messages between an event loop and the task that receives them; and the pings whose pongs are awaited.
final class SocketInbox: Sendable {
    /// Beyond this nothing is read. One message may be larger.
    static let maximumBytes = 256 << 10
    static let maximumCount = 64
    /// Pings under way, at most.
    static let maximumPings = 16

    private struct State {
        var messages: [WebSocketMessage] = []
        var taken = 0
        var bytes = 0
        var end: WebSocketEnd?
        var receiver: Outcome<WebSocketMessage>?
        var lastPing: UInt64 = 0
        var pings: [(number: UInt64, outcome: Outcome<Void>)] = []
        /// The event loop was told that it is full, and not that there is room again.
        var isPaused = false

        var isFull: Bool { bytes >= SocketInbox.maximumBytes || messages.count - taken >= SocketInbox.maximumCount }

        mutating func takeFirst() -> WebSocketMessage? {
            guard taken < messages.count else { return nil }
            let message = messages[taken]
            bytes -= message.byteCount
            taken += 1
            if taken == messages.count || taken >= SocketInbox.maximumCount {
                messages.removeFirst(taken)
                taken = 0
            }
            return message
        }
    }

    private let state = NIOLockedValueBox(State())

    // MARK: On the event loop

    var isFull: Bool {
        state.withLockedValue { state in
            state.isPaused = state.isFull
            return state.isPaused
        }
    }

    func push(_ message: WebSocketMessage) {
        let receiver = state.withLockedValue { state -> Outcome<WebSocketMessage>? in
            guard state.end == nil else { return nil }
            if let receiver = state.receiver {
                state.receiver = nil
                return receiver
            }
            state.messages.append(message)
            state.bytes += message.byteCount
            return nil
        }
        receiver?.succeed(message)
    }

    func pong(_ payload: [UInt8]) {
        guard payload.count == 8 else { return }
        let number = payload.reduce(0) { $0 << 8 | UInt64($1) }
        let answered = state.withLockedValue { state in
            let answered = state.pings.filter { $0.number <= number }
            state.pings.removeAll { $0.number <= number }
            return answered
        }
        for ping in answered { ping.outcome.succeed(()) }
    }

    /// The first end counts. Messages before it can still be received.
    func end(_ end: WebSocketEnd) {
        let (receiver, pings) = state.withLockedValue { state in
            guard state.end == nil else {
                return (nil as Outcome<WebSocketMessage>?, [] as [(number: UInt64, outcome: Outcome<Void>)])
            }
            state.end = end
            defer { (state.receiver, state.pings) = (nil, []) }
            return (state.receiver, state.pings)
        }
        receiver?.fail(end)
        for ping in pings { ping.outcome.fail(end) }
    }

    // MARK: On any thread

    /// - Returns: a message, or what will have it; and whether the event loop may read again.
    func receive() throws -> (message: WebSocketMessage?, later: Outcome<WebSocketMessage>, resumesReading: Bool) {
        try state.withLockedValue { state in
            let later = Outcome<WebSocketMessage>()
            if let message = state.takeFirst() {
                let resumes = state.isPaused && !state.isFull
                if resumes { state.isPaused = false }
                return (message, later, resumes)
            }
            if let end = state.end { throw end }
            state.receiver = later
            return (nil, later, false)
        }
    }

    /// - Returns: the ping's payload, and what is completed by its pong.
    func beginPing() throws -> (payload: UInt64, outcome: Outcome<Void>) {
        try state.withLockedValue { state in
            if let end = state.end { throw end }
            guard state.pings.count < Self.maximumPings else { throw WebSocketEnd.lost(.connectionLost) }
            state.lastPing += 1
            let outcome = Outcome<Void>()
            state.pings.append((state.lastPing, outcome))
            return (state.lastPing, outcome)
        }
    }
}

extension WebSocketMessage {
    var byteCount: Int {
        switch self {
        case .text(let bytes), .binary(let bytes): bytes.count
        }
    }
}
