/// A message to the client that has a number and can be said again.
struct KeptMessage: Hashable, Sendable {
    enum Kind: UInt8, Hashable, Sendable {
        /// The payload is text of the target, valid UTF-8.
        case text
        /// What came out of band, in the form of its dialect.
        case package
        case prompt
        case echoSuppressed
        case echoShown

        var isEcho: Bool { self == .echoSuppressed || self == .echoShown }
    }

    let kind: Kind
    let seq: UInt64
    /// Empty for prompts and echoes.
    let payload: ArraySlice<UInt8>
}

/// The answer to a client that has come back.
struct Replay: Hashable, Sendable {
    /// What is gone for good, before the first of `messages`; nil: nothing.
    let gap: ReplayGap?
    /// The number before the first of `messages`.
    var start: UInt64
    /// In order.
    var messages: [KeptMessage]
}

/// Messages that a client missed and can't have any more.
struct ReplayGap: Hashable, Sendable {
    let fromSeq: UInt64
    let toSeq: UInt64
    /// Their payload together. Exact unless the client was further behind when it left than ``LostSizes/maximumEntries`` messages that were
    /// let go; then it may count what the client had seen.
    let bytes: UInt64
}
