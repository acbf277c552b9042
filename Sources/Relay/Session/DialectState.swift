import Compression
import RelayCore

/// The dialect of a session's client, and the translation between it and the target's telnet.
enum DialectState {
    /// The dialect isn't known yet: see `DialectChooser`.
    case choosing(DialectChooser)
    /// The client speaks telnet itself, or another protocol: bytes pass unchanged.
    case raw
    case translated(TranslationHolder)
}

/// The session's translation, changed in place: a value of that size isn't copied for each question.
final class TranslationHolder {
    var value: Translation

    init(_ value: Translation) { self.value = value }
}

/// What the target has sent and the client has not been told yet: the rest of one read when the client's queue was full.
///
/// While it is empty it holds no memory: its array goes from one session to the next, as the `spare` of their reactor.
struct PendingInput {
    private var bytes: [UInt8] = []
    private var start = 0

    var count: Int { bytes.count - start }

    /// For another process.
    var unread: [UInt8] { Array(bytes[start...]) }

    mutating func append(_ more: UnsafeRawBufferPointer, spare: inout [UInt8]) {
        if bytes.capacity == 0 { swap(&bytes, &spare) }
        bytes.append(contentsOf: more)
    }

    /// Puts bytes before all others: they came earlier.
    mutating func prepend(_ earlier: [UInt8]) {
        bytes = earlier + bytes[start...]
        start = 0
    }

    mutating func removeAll() {
        bytes = []
        start = 0
    }

    /// Lets `body` take from the front, and removes what it took.
    mutating func take<Result>(spare: inout [UInt8], _ body: (inout ArraySlice<UInt8>) -> Result) -> Result {
        var rest = bytes[start...]
        let result = body(&rest)
        let left = rest.count
        rest = []  // The slice would make the next change a copy.
        start = bytes.count - left
        if left == 0 { giveBack(&spare) }
        return result
    }

    private mutating func giveBack(_ spare: inout [UInt8]) {
        bytes.removeAll(keepingCapacity: true)
        if spare.capacity < bytes.capacity { swap(&bytes, &spare) }
        removeAll()
    }
}

/// How a target has ended.
enum EndOfTarget {
    /// With a FIN: it can still be written to.
    case finished
    /// - Parameter reason: nil after an orderly end.
    case closed(_ reason: CloseReason?)

    var reason: CloseReason {
        switch self {
        case .finished: .targetClosed
        case .closed(let reason): reason ?? .targetClosed
        }
    }
}

/// zlib where the legacy dialect wants it, which knows nothing of it. One a reactor: it serves all of its sessions in turn.
final class ZlibCompressor: FrameCompressor {
    /// Made when the first client needs it.
    private lazy var deflater = try? RawDeflater()

    func compress(_ bytes: [UInt8]) -> [UInt8]? {
        try? deflater?.deflate(bytes)
    }
}
