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

/// The session's translation, changed in place: reading it doesn't copy the large value.
final class TranslationHolder {
    var value: Translation

    init(_ value: Translation) { self.value = value }
}

/// Output of the target that isn't translated yet: the rest of one read when the client's queue was full.
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

    /// Calls `body` with the bytes, and removes those that it consumed from the front.
    mutating func take<Result>(spare: inout [UInt8], _ body: (inout ArraySlice<UInt8>) -> Result) -> Result {
        var rest = bytes[start...]
        let result = body(&rest)
        let left = rest.count
        rest = []  // A remaining slice would make the next change a copy.
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

/// zlib for the legacy dialect, which doesn't depend on it. One per reactor, used by its sessions in turn.
final class ZlibCompressor: FrameCompressor {
    /// Made when the first client needs it.
    private lazy var deflater = try? RawDeflater()

    func compress(_ bytes: [UInt8]) -> [UInt8]? {
        try? deflater?.deflate(bytes)
    }
}
