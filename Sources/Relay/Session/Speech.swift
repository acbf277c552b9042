import RelayCore

/// How a session's client and its target understand each other.
enum Speech {
    /// Nobody knows yet what the client speaks: see `DialectChooser`.
    case choosing(DialectChooser)
    /// The client is the telnet end itself, or speaks something else altogether: bytes pass as they are.
    case raw
    case translated(TranslationHolder)
}

/// The session's translation, where it is changed in place: a value of that size isn't copied for each question.
final class TranslationHolder {
    var value: Translation

    init(_ value: Translation) { self.value = value }
}

/// What the target has sent and the client has not been told yet: of one read what was left when the client's queue was full.
///
/// While it is empty it holds no memory: that goes from one session to the next as a `spare` of their reactor.
struct PendingInput {
    private var bytes: [UInt8] = []
    private var start = 0

    var count: Int { bytes.count - start }

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

    /// Lets `body` take from the front, and forgets what it took.
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
