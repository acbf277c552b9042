/// A numbered message to the client that can be sent again.
struct KeptMessage: Hashable, Sendable {
    enum Kind: UInt8, Hashable, Sendable {
        /// The payload is the target's text, valid UTF-8.
        case text
        /// An out-of-band message in its dialect's form.
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

/// The answer to a client that resumes.
struct Replay: Hashable, Sendable {
    /// The messages before the first of `messages` that are lost for good; nil: none.
    let gap: ReplayGap?
    /// The number before the first of `messages`.
    var start: UInt64
    /// In order.
    var messages: [KeptMessage]
}

/// Messages that a client missed and can't receive any more.
struct ReplayGap: Hashable, Sendable {
    let fromSeq: UInt64
    let toSeq: UInt64
    /// The sum of their payloads. Exact unless the client, when it left, was more than ``LostSizes/maximumEntries`` discarded
    /// messages behind; then it may include messages that the client had seen.
    let bytes: UInt64
}
