package import Telnet

/// One session's translator: a client's dialect on one side, the target's telnet on the other.
///
/// Pure: bytes and messages in; messages, bytes and orders out, in a ``TranslationOutput`` that the session carries out after each
/// call. Toward the client it is pulled: ``next(_:now:canReply:into:)`` takes one event at a time off the front of what the target has
/// sent, and the session stops when the client's queue is above its mark. So it never puts out more than one event's messages at a
/// time, whatever the target sends; after a resume what is kept of the session besides.
///
/// ```
///          connect (typed, legacy)          connected
///   idle ───────────────────────▶ dialing ────────────▶ connected ──▶ ended
///   │ ▲      the others begin here ──▲  │
///   │ ├──── dialFailed, typed ──────────┘  dialFailed, others ──▶ ended
///   │ │ resumeFailed
///   └─▶ resuming
/// ```
/// A resume that succeeds ends here for the translation of the new connection: it is dropped, and the link goes on with the one of the
/// session, which has been `connected` all the time, with or without a client. That one is tied to no connection and no thread.
///
/// What the session asks for each message (``isConnected``, ``holdsBytes``, ``holdsClientBack``) is stored: to call a getter of another module the
/// whole value would be copied, with a count for each reference in it.
package struct Translation {
    /// `MAX_MESSAGE_BYTES`
    package static let defaultMaximumMessageBytes = 65_536
    /// `OUTPUT_BUFFER_BYTES`
    package static let defaultOutputBufferBytes = ReplayBuffer.defaultMaximumBytes

    /// Commands of the target's that one call of ``next(_:now:canReply:into:)`` looks at for an event.
    static let stepsPerEvent = 16

    enum Phase {
        case idle
        /// Asks for a session that it had: see ``TranslationOrder/resume(_:)``.
        case resuming
        case dialing
        case connected
        case ended
    }

    package let kind: DialectKind
    var dialect: any Dialect
    private let makeDecompressor: (@Sendable () -> any Decompressor)?
    let outputBufferBytes: Int
    let maximumMessageBytes: Int
    var client: ClientDescription
    var gatherer: MessageGatherer
    var phase: Phase {
        didSet {
            isConnected = phase == .connected
            holdsClientBack = phase == .dialing && waiting.isAboveHighWater
        }
    }
    var telnet: TelnetClient?
    /// While dialing: everything. While connected: GMCP and MSDP that the target hasn't agreed to yet.
    var waiting = WaitingCommands() {
        didSet { holdsClientBack = phase == .dialing && waiting.isAboveHighWater }
    }
    var canAnswer = true
    /// Empty before there is one.
    var sessionID = ""
    var history: SessionHistory
    var inputs = InputLedger()

    /// nil for ``DialectKind/raw``, which nobody translates.
    ///
    /// - Parameters:
    ///   - client: what the query of the upgrade says of the client.
    ///   - outputBufferBytes: what is kept for a resume; 0: no session can be resumed.
    ///   - compressor: for the legacy dialect.
    ///   - makeDecompressor: for MCCP2; nil: it's refused.
    package init?(
        kind: DialectKind, client: ClientDescription, maximumMessageBytes: Int = defaultMaximumMessageBytes,
        outputBufferBytes: Int = defaultOutputBufferBytes, compressor: any FrameCompressor,
        makeDecompressor: (@Sendable () -> any Decompressor)?
    ) {
        switch kind {
        case .raw: return nil
        case .terminal: dialect = TerminalDialect()
        case .gmcp: dialect = GMCPDialect()
        case .json: dialect = JSONDialect()
        case .typed: dialect = TypedDialect()
        case .legacy: dialect = LegacyDialect(compressor: compressor)
        }
        self.kind = kind
        self.client = client
        self.makeDecompressor = makeDecompressor
        self.outputBufferBytes = dialect.numbering == nil ? 0 : outputBufferBytes
        history = SessionHistory(numbering: .messages, maximumBytes: 0)
        self.maximumMessageBytes = maximumMessageBytes
        gatherer = MessageGatherer(limit: MessageSize.gathered(maximumMessageBytes))
        phase = dialect.awaitsConnect ? .idle : .dialing
        awaitsConnect = dialect.awaitsConnect
        hasNotices = dialect.hasNotices
        answersErrors = dialect.answersErrors
    }

    /// The client names its target in a message, and a ``TranslationOrder/dial(_:)`` follows. Otherwise the session
    /// dials the connection's target by itself.
    package let awaitsConnect: Bool

    /// The dialect has a place for what the gateway itself has to say.
    package let hasNotices: Bool

    /// A message that is refused is answered. Elsewhere a client that sends too much at once has to be closed.
    package let answersErrors: Bool

    /// Whether ``next(_:now:canReply:into:)`` takes anything: before ``connected(_:telnet:into:)`` the target's bytes stay where they are.
    package private(set) var isConnected = false

    /// So much waits for the target that the client must not be read before it is connected.
    package private(set) var holdsClientBack = false

    /// A target is awaited: ``connected(_:telnet:into:)`` or ``dialFailed(_:into:)`` is due.
    package var isDialing: Bool { phase == .dialing }

    /// The last message has been said: a ``TranslationOrder/close(_:)`` was given.
    package var hasEnded: Bool { phase == .ended }

    /// The target's bytes lie inside and wait for ``next(_:now:canReply:into:)``, even if there is no input.
    package private(set) var holdsBytes = false

    // MARK: The target

    /// The target is connected, or the one that was is the one asked for.
    ///
    /// - Parameters:
    ///   - session: told to clients whose dialect has sessions.
    ///   - telnet: of this target; what the client has said of itself takes the place of what stands there.
    package mutating func connected(
        _ session: SessionIdentity, telnet settings: TelnetClientSettings, into output: inout TranslationOutput
    ) {
        guard phase == .dialing else { return }
        var settings = settings
        client.apply(to: &settings)
        telnet = TelnetClient(settings: settings, makeDecompressor: makeDecompressor)
        phase = .connected
        sessionID = session.id
        history = SessionHistory(numbering: dialect.numbering ?? .messages, maximumBytes: outputBufferBytes)
        dialect.sessionBegan(session, isResumable: isResumable, into: &output.frames)
        carryOutWaiting(into: &output)
    }

    /// The target wasn't reached, or may not be.
    package mutating func dialFailed(_ failure: DialFailure, into output: inout TranslationOutput) {
        guard phase == .dialing else { return }
        waiting = WaitingCommands()
        inputs = InputLedger()
        phase = .idle
        if let reason = dialect.encode(failure, into: &output.frames) { close(reason, into: &output) }
    }

    /// Takes one event off the front of `input` and says it to the client.
    ///
    /// - Parameters:
    ///   - input: what the target has sent, and what earlier calls have left of it.
    ///   - now: nanoseconds of a monotonic clock.
    ///   - canReply: there is room toward the target. Without it telnet's answers stay inside, within limits, until
    ///     ``reply(into:)`` or a later call.
    /// - Returns: false: `input` is used up, or the session isn't connected. Otherwise there was an event, or ``stepsPerEvent`` commands that
    ///   brought none.
    package mutating func next(
        _ input: inout ArraySlice<UInt8>, now: UInt64, canReply: Bool = true, into output: inout TranslationOutput
    ) -> Bool {
        guard phase == .connected else { return false }
        let progress = telnet?.advance(&input, now: now, steps: Self.stepsPerEvent) ?? .usedUp
        holdsBytes = telnet?.holdsBytes ?? false
        if case .event(let event) = progress { dialect.encode(event, keeping: &history, into: &output.frames) }
        if canReply { reply(into: &output) }
        if telnet?.failure != nil {
            input = []
            end(.targetBroken, into: &output)
        }
        if case .usedUp = progress { return false }
        return true
    }

    /// The target will say no more. To be called when everything it said has been taken by ``next(_:now:canReply:into:)``.
    package mutating func targetClosed(_ reason: CloseReason = .targetClosed, into output: inout TranslationOutput) {
        guard phase == .connected else { return }
        if let event = telnet?.finish() { dialect.encode(event, keeping: &history, into: &output.frames) }
        end(reason, into: &output)
    }

    /// Telnet's NOP, for a target that has heard nothing for long.
    package mutating func keepAlive(into output: inout TranslationOutput) {
        guard phase == .connected else { return }
        telnet?.keepAlive(to: &output.toTarget)
    }

    /// What telnet wants said, and behind it what was waiting for an option that may have come into force by it.
    package mutating func reply(into output: inout TranslationOutput) {
        guard let replies = telnet?.takeReplies(), !replies.isEmpty else { return }
        output.toTarget.append(contentsOf: replies)
        carryOutWaiting(into: &output)
    }

    private mutating func end(_ reason: CloseReason, into output: inout TranslationOutput) {
        dialect.sessionEnded(sessionID, into: &output.frames)
        close(reason, into: &output)
    }

    mutating func close(_ reason: CloseReason, into output: inout TranslationOutput) {
        phase = .ended
        telnet = nil
        holdsBytes = false
        output.orders.append(.close(reason))
    }
}
