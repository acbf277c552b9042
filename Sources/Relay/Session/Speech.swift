import RelayCore

/// How a session's client and its target understand each other.
enum Speech {
    /// Nobody knows yet what the client speaks: see `DialectChooser`.
    case choosing(DialectChooser)
    /// The client is the telnet end itself, or speaks something else altogether: bytes pass as they are.
    case raw
    case translated(Translation)
}

/// What the target has sent and the client has not been told yet: of one read what was left when the client's queue was full.
///
/// It keeps its memory from one read to the next.
struct PendingInput {
    private var bytes: [UInt8] = []
    private var start = 0

    var count: Int { bytes.count - start }

    mutating func append(_ more: UnsafeRawBufferPointer) { bytes.append(contentsOf: more) }

    /// Puts bytes before all others: they came earlier.
    mutating func prepend(_ earlier: [UInt8]) { bytes = earlier + bytes[start...]; start = 0 }

    mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        start = 0
    }

    /// Lets `body` take from the front, and forgets what it took.
    mutating func take<Result>(_ body: (inout ArraySlice<UInt8>) -> Result) -> Result {
        var rest = bytes[start...]
        let result = body(&rest)
        let left = rest.count
        rest = []  // The slice would make the next change a copy.
        start = bytes.count - left
        if start == bytes.count { removeAll() }
        return result
    }
}
