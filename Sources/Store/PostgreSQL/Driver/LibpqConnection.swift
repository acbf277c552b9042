import CLibpq
import Glibc

/// One connection of libpq's. This file and `LibpqResult` have all of the driver's calls of C.
///
/// A connection is used by one thread at a time: by the thread that makes it, and then by the driver's. Its owner is
/// the only one to hold it, and libpq's memory is freed with the last reference.
final class LibpqConnection: @unchecked Sendable {
    private let raw: OpaquePointer

    private init(_ raw: OpaquePointer) { self.raw = raw }

    deinit { PQfinish(raw) }

    /// Connects; blocks, at most `connect_timeout` for each host, and as long as the resolver takes.
    static func connect(_ parameters: [String: String]) -> Result<LibpqConnection, ConnectFailure> {
        let names = parameters.keys.sorted()
        let values = names.map { parameters[$0] ?? "" }
        let raw = withCStrings(names) { keywords in withCStrings(values) { PQconnectdbParams(keywords, $0, 0) } }
        guard let raw else { return .failure(ConnectFailure(text: "no memory")) }
        // Otherwise libpq writes notices to standard error.
        PQsetNoticeReceiver(raw, { _, _ in }, nil)
        let connection = LibpqConnection(raw)
        guard PQstatus(raw) == CONNECTION_OK else { return .failure(ConnectFailure(text: connection.message)) }
        return .success(connection)
    }

    /// For the driver: nothing waits any more, and statements follow each other without waiting for answers.
    func beginPipeline() -> Bool { PQsetnonblocking(raw, 1) == 0 && PQenterPipelineMode(raw) == 1 }

    var descriptor: Int32 { PQsocket(raw) }
    var isLost: Bool { PQstatus(raw) != CONNECTION_OK }

    /// What the server has told on its own: whether it only reads.
    var isReadOnly: Bool {
        ["in_hot_standby", "default_transaction_read_only"].contains { (name: String) in
            PQparameterStatus(raw, name).map { String(cString: $0) } == "on"
        }
    }

    /// libpq's last message, in one line of bounded length. It names hosts, users and databases, never a password.
    var message: String { oneLine(String(cString: PQerrorMessage(raw))) }

    // MARK: Sending, in the pipeline

    func prepare(_ statement: SQLStatement) -> Bool { PQsendPrepare(raw, statement.name, statement.text, 0, nil) == 1 }

    func execute(_ statement: SQLStatement, _ values: [SQLValue]) -> Bool {
        withParameters(values) { pointers, lengths, formats in
            PQsendQueryPrepared(raw, statement.name, Int32(values.count), pointers, lengths, formats, 1) == 1
        }
    }

    /// Ends a statement's transaction; statements behind it aren't affected by its failure.
    func synchronize() -> Bool { PQpipelineSync(raw) == 1 }

    enum Flushing { case done, more, failed }

    func flush() -> Flushing {
        switch PQflush(raw) {
        case 0: .done
        case 1: .more
        default: .failed
        }
    }

    // MARK: Receiving

    /// Reads what has arrived; false if the connection is lost.
    func receive() -> Bool { PQconsumeInput(raw) == 1 }

    var hasResult: Bool { PQisBusy(raw) == 0 }

    func askForSingleRows() { PQsetSingleRowMode(raw) }

    /// Nil at the end of a statement's results.
    func nextResult() -> LibpqResult? { PQgetResult(raw).map(LibpqResult.init) }

    func takeNotifications() -> Int {
        var count = 0
        while let notification = PQnotifies(raw) {
            PQfreemem(notification)
            count += 1
        }
        return count
    }

    // MARK: One after the other, blocking, without a pipeline

    /// - Parameter deadline: of ``Monotonic``. A connection that has missed one can't be used again.
    /// - Returns: the last result; nil if the connection is lost, or there is none at the deadline.
    func runBlocking(_ text: String, _ values: [SQLValue]?, until deadline: UInt64) -> LibpqResult? {
        guard PQsetnonblocking(raw, 1) == 0, send(text, values), awaitSending(until: deadline) else { return nil }
        var last: LibpqResult?
        while true {
            while !hasResult { guard awaitEvent(POLLIN, until: deadline), receive() else { return nil } }
            guard let result = nextResult() else { return last }
            last = result
        }
    }

    private func send(_ text: String, _ values: [SQLValue]?) -> Bool {
        guard let values else { return PQsendQuery(raw, text) == 1 }
        return withParameters(values) { pointers, lengths, formats in
            PQsendQueryParams(raw, text, Int32(values.count), nil, pointers, lengths, formats, 1) == 1
        }
    }

    private func awaitSending(until deadline: UInt64) -> Bool {
        while true {
            switch flush() {
            case .done: return true
            case .failed: return false
            case .more: guard awaitEvent(POLLIN | POLLOUT, until: deadline), receive() else { return false }
            }
        }
    }

    private func awaitEvent(_ events: Int32, until deadline: UInt64) -> Bool {
        while true {
            let now = Monotonic.now
            guard now < deadline else { return false }
            var awaited = pollfd(fd: descriptor, events: Int16(events), revents: 0)
            let count = poll(&awaited, 1, Int32(clamping: (deadline - now) / 1_000_000 + 1))
            if count > 0 { return true }
            guard count == 0 || errno == EINTR else { return false }
        }
    }
}

struct ConnectFailure: Error {
    let text: String
}

/// A text of the server's or of libpq's for a log: printable, in one line, of bounded length.
func oneLine(_ text: String) -> String {
    let words = text.split(whereSeparator: \.isNewline).joined(separator: " ")
    let printable = words.unicodeScalars.prefix(300).map { scalar -> Character in
        scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value) ? " " : Character(scalar)
    }
    return String(printable)
}

/// The pointers are valid during the call.
private func withCStrings<Result>(
    _ texts: [String], _ body: (UnsafePointer<UnsafePointer<CChar>?>) -> Result
) -> Result {
    var bytes: [CChar] = []
    var offsets: [Int] = []
    for text in texts {
        offsets.append(bytes.count)
        bytes += text.utf8CString
    }
    return bytes.withUnsafeBufferPointer { buffer in
        // The list ends with a null.
        var pointers: [UnsafePointer<CChar>?] = offsets.map { offset in buffer.baseAddress.map { $0 + offset } }
        pointers.append(nil)
        return pointers.withUnsafeBufferPointer { pointers in
            guard let base = pointers.baseAddress else { preconditionFailure("The list has its end.") }
            return body(base)
        }
    }
}

/// All values in one buffer, in binary form. The pointers are valid during the call; libpq copies.
private func withParameters<Result>(
    _ values: [SQLValue],
    _ body: (UnsafePointer<UnsafePointer<CChar>?>?, UnsafePointer<Int32>?, UnsafePointer<Int32>?) -> Result
) -> Result {
    var buffer: [CChar] = []
    var pieces: [(offset: Int, count: Int)?] = []
    for value in values {
        guard let encoded = value.encoded else {
            pieces.append(nil)
            continue
        }
        pieces.append((buffer.count, encoded.count))
        buffer.append(contentsOf: encoded.lazy.map { CChar(bitPattern: $0) })
    }
    // An empty value must have a pointer, too: none means null.
    buffer.append(0)
    let lengths = pieces.map { Int32($0?.count ?? 0) }
    let formats = [Int32](repeating: 1, count: values.count)
    return buffer.withUnsafeBufferPointer { bytes in
        let pointers = pieces.map { piece -> UnsafePointer<CChar>? in
            guard let piece, let start = bytes.baseAddress else { return nil }
            return start + piece.offset
        }
        return pointers.withUnsafeBufferPointer { pointers in
            lengths.withUnsafeBufferPointer { lengths in
                formats.withUnsafeBufferPointer { formats in
                    body(pointers.baseAddress, lengths.baseAddress, formats.baseAddress)
                }
            }
        }
    }
}
