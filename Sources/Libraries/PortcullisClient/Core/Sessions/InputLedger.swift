/// The inputs of a session that nothing has confirmed yet. It is what makes sure that no input is sent twice, and that
/// none is lost in silence.
///
/// In typed the gateway confirms each by its number, and applies it once however often it comes: so it is sent again
/// after a resume, and where the confirmation was left out because too much output waited. Elsewhere the pong of a ping
/// behind it confirms that the gateway has read it; without that nobody knows, and it isn't sent again.
struct InputLedger: Sendable {
    private struct Entry {
        let number: InputNumber
        let message: WebSocketMessage
        let bytes: Int
        /// The gateway confirms it by its number.
        let isNumbered: Bool
        /// Over this connection.
        var isSent = false
        /// … or an earlier one, so that it may have arrived.
        var wasSent = false
        /// How often nothing had answered it when ``InputLedger/overdue()`` was called.
        var looks = 0

        var isOverdue: Bool { isSent && isNumbered && looks >= InputLedger.patience }
    }

    /// A confirmation is overdue at this look.
    static let patience = 2

    /// What a lost connection leaves behind.
    struct Loss: Equatable {
        /// Sent, and not confirmed by anything.
        var uncertain: [InputNumber] = []
        var undelivered: [InputNumber] = []
    }

    private let maximumCount, maximumBytes: Int
    private var entries: [Entry] = []
    private var bytes = 0
    private var lastNumber: InputNumber = 0

    init(maximumCount: Int, maximumBytes: Int) {
        (self.maximumCount, self.maximumBytes) = (maximumCount, maximumBytes)
    }

    var isEmpty: Bool { entries.isEmpty }
    var nextNumber: InputNumber { lastNumber + 1 }

    func hasRoom(for count: Int) -> Bool {
        entries.isEmpty || entries.count < maximumCount && bytes + count <= maximumBytes
    }

    mutating func add(_ message: WebSocketMessage, isNumbered: Bool) -> InputNumber {
        lastNumber += 1
        entries.append(Entry(number: lastNumber, message: message, bytes: message.count, isNumbered: isNumbered))
        bytes += message.count
        return lastNumber
    }

    /// The inputs that are due, in order.
    mutating func takeUnsent() -> [WebSocketMessage] {
        entries.indices.filter { !entries[$0].isSent }.map { index in
            (entries[index].isSent, entries[index].wasSent) = (true, true)
            return entries[index].message
        }
    }

    /// The highest number that a pong can confirm now; nil if no input waits for one.
    var awaitsPong: InputNumber? { entries.last { $0.isSent && !$0.isNumbered }?.number }

    /// The gateway has confirmed or refused one.
    ///
    /// - Returns: false if it wasn't waiting for that.
    mutating func settle(_ number: InputNumber) -> Bool {
        guard let index = entries.firstIndex(where: { $0.number == number && $0.isNumbered && $0.isSent }) else {
            return false
        }
        bytes -= entries.remove(at: index).bytes
        return true
    }

    /// The pong of a ping that was sent behind these has come.
    mutating func pong(upTo number: InputNumber) -> [InputNumber] {
        let settled = entries.filter { $0.isSent && !$0.isNumbered && $0.number <= number }
        entries.removeAll { $0.isSent && !$0.isNumbered && $0.number <= number }
        bytes -= settled.reduce(0) { $0 + $1.bytes }
        return settled.map(\.number)
    }

    /// Looks whether confirmations are missing.
    ///
    /// - Returns: the highest number of those that are overdue; nil if none is.
    mutating func overdue() -> InputNumber? {
        for index in entries.indices where entries[index].isSent && entries[index].isNumbered {
            entries[index].looks += 1
        }
        return entries.last(where: \.isOverdue)?.number
    }

    /// Overdue inputs up to the one behind which a pong has come: the gateway has read them, and what it sent before
    /// the pong has arrived.
    mutating func takeOverdue(upTo number: InputNumber) -> [WebSocketMessage] {
        entries.indices.filter { entries[$0].isOverdue && entries[$0].number <= number }.map { index in
            entries[index].looks = 0
            return entries[index].message
        }
    }

    /// The connection was lost, and the session goes on: numbered inputs are sent again.
    ///
    /// - Returns: the sent ones that can't be.
    mutating func connectionLost() -> [InputNumber] {
        let uncertain = entries.filter { $0.isSent && !$0.isNumbered }.map(\.number)
        entries.removeAll { $0.isSent && !$0.isNumbered }
        for index in entries.indices { (entries[index].isSent, entries[index].looks) = (false, 0) }
        bytes = entries.reduce(0) { $0 + $1.bytes }
        return uncertain
    }

    /// The session has ended.
    mutating func sessionEnded() -> Loss {
        defer { (entries, bytes) = ([], 0) }
        return Loss(
            uncertain: entries.filter(\.wasSent).map(\.number),
            undelivered: entries.filter { !$0.wasSent }.map(\.number))
    }
}

extension WebSocketMessage {
    var count: Int {
        switch self {
        case .text(let bytes), .binary(let bytes): bytes.count
        }
    }
}
