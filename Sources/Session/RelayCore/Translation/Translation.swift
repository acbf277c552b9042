package import Telnet

/// One session's translator: a client's dialect on one side, the target's telnet on the other.
///
/// Pure: it takes bytes and messages, and returns messages, bytes and orders in a ``TranslationOutput``, which the
/// session carries out after each call. Output to the client is pulled: ``next(_:now:canReply:into:)`` takes one event
/// at a time off the front of the target's bytes, and the session stops while the client's queue is above its mark. One
/// call therefore puts out at most one event's messages, whatever the target sends; after a resume it also puts out the
/// session's kept messages.
///
/// ```
///          connect (typed, legacy)          connected
///   idle ───────────────────────▶ dialing ────────────▶ connected ──▶ ended
///   │ ▲      the others begin here ──▲  │
///   │ ├──── dialFailed, typed ──────────┘  dialFailed, others ──▶ ended
///   │ │ resumeFailed
///   └─▶ resuming
/// ```
/// A successful resume ends the new connection's translation here: the link drops it and continues with the session's
/// own translation, which has been `connected` all the time, with or without a client. It belongs to no connection and
/// no thread.
///
/// The session reads ``isConnected``, ``holdsBytes`` and ``holdsClientBack`` for each message, so they are stored
/// properties: calling a computed property from another module would copy the whole value and retain each reference in
/// it.
package struct Translation {
    /// `MAX_MESSAGE_BYTES`
    package static let defaultMaximumMessageBytes = 65_536
    /// `OUTPUT_BUFFER_BYTES`
    package static let defaultOutputBufferBytes = ReplayBuffer.defaultMaximumBytes

    /// The most target commands that one call of ``next(_:now:canReply:into:)`` processes in search of an event.
    static let stepsPerEvent = 16

    enum Phase {
        case idle
        /// Requests an earlier session: see ``TranslationOrder/resume(_:)``.
        case resuming
        case dialing
        case connected
        case ended
    }

    package let kind: DialectKind
    var dialect: any Dialect
    private let makeDecompressor: (@Sendable () -> any Decompressor)?
    private(set) var outputBufferBytes: Int
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
    /// While dialing: all commands. While connected: GMCP and MSDP to which the target hasn't agreed yet.
    var waiting = WaitingCommands() {
        didSet { holdsClientBack = phase == .dialing && waiting.isAboveHighWater }
    }
    var canAnswer = true
    /// Empty until there is a session.
    var sessionID = ""
    var history: SessionHistory
    var inputs = InputLedger()

    /// nil for ``DialectKind/raw``, which isn't translated.
    ///
    /// - Parameters:
    ///   - client: the client's description in the upgrade's query.
    ///   - outputBufferBytes: the bytes of output kept for a resume; 0: no session can be resumed.
    ///   - compressor: for the legacy dialect.
    ///   - makeDecompressor: for MCCP2; nil: MCCP2 is refused.
    package init?(
        kind: DialectKind, client: ClientDescription, maximumMessageBytes: Int = defaultMaximumMessageBytes,
        outputBufferBytes: Int = defaultOutputBufferBytes, compressor: any FrameCompressor,
        makeDecompressor: (@Sendable () -> any Decompressor)?
    ) {
        guard let type = kind.dialect else { return nil }
        dialect = type.init(compressor: compressor)
        self.kind = kind
        self.client = client
        self.makeDecompressor = makeDecompressor
        self.outputBufferBytes = type.numbering == nil ? 0 : outputBufferBytes
        history = SessionHistory(numbering: .messages, maximumBytes: 0)
        self.maximumMessageBytes = maximumMessageBytes
        gatherer = MessageGatherer(limit: MessageSize.gathered(maximumMessageBytes))
        phase = dialect.awaitsConnect ? .idle : .dialing
        awaitsConnect = dialect.awaitsConnect
        hasNotices = dialect.hasNotices
        answersErrors = dialect.answersErrors
    }

    /// One that goes on from another process, without a client.
    ///
    /// - Parameters:
    ///   - telnet: the settings of this process.
    ///   - restoring: makes the decompressor of a stream that is under way.
    /// - Returns: nil where the state isn't one of a session that can be resumed, or its stream can't be continued.
    package init?(
        _ state: State, maximumMessageBytes: Int, telnet settings: TelnetClientSettings,
        compressor: any FrameCompressor, makeDecompressor: (@Sendable () -> any Decompressor)?,
        restoring: DecompressorRestorer
    ) {
        self.init(
            kind: state.kind, client: state.client, maximumMessageBytes: maximumMessageBytes,
            outputBufferBytes: state.outputBufferBytes, compressor: compressor, makeDecompressor: makeDecompressor)
        guard outputBufferBytes > 0, state.inputs.isSound,
            let telnet = TelnetClient(
                state.telnet, settings: settings, makeDecompressor: makeDecompressor, restoring: restoring)
        else { return nil }
        self.telnet = telnet
        phase = .connected
        isConnected = true
        holdsBytes = telnet.holdsBytes
        waiting = state.waiting
        sessionID = state.sessionID
        history = state.history
        inputs = state.inputs
    }

    /// The client names its target in a message, which yields a ``TranslationOrder/dial(_:)``. Otherwise the session
    /// dials the connection's target without being asked.
    package let awaitsConnect: Bool

    /// The dialect has messages for the gateway's own notices.
    package let hasNotices: Bool

    /// A refused message is answered with an error. In other dialects a client that sends too much at once must be
    /// disconnected.
    package let answersErrors: Bool

    /// Whether ``next(_:now:canReply:into:)`` takes bytes: before ``connected(_:telnet:into:)`` it leaves the target's
    /// bytes untouched.
    package private(set) var isConnected = false

    /// The encoding of the target's text; nil without a target.
    package var encodingName: String? { telnet?.encoding.charsetName }

    /// So many commands wait for the target that the client must not be read until the target is connected.
    package private(set) var holdsClientBack = false

    /// Dialing is under way: ``connected(_:telnet:into:)`` or ``dialFailed(_:into:)`` is due.
    package var isDialing: Bool { phase == .dialing }

    /// The last message has been put out, and a ``TranslationOrder/close(_:)`` was given.
    package var hasEnded: Bool { phase == .ended }

    /// Bytes from the target are stored inside and wait for ``next(_:now:canReply:into:)``, even without new input.
    package internal(set) var holdsBytes = false

    /// Why the target's compressed stream can't be read, if that has ended the session.
    package private(set) var brokenStream: TelnetFailure?

    // MARK: The target

    /// The target is connected, or the requested target is the one already connected.
    ///
    /// - Parameters:
    ///   - session: sent to clients whose dialect has sessions.
    ///   - telnet: the settings of this target; the client's description overrides them.
    package mutating func connected(
        _ session: SessionIdentity, telnet settings: TelnetClientSettings, into output: inout TranslationOutput
    ) {
        guard phase == .dialing else { return }
        var settings = settings
        client.apply(to: &settings)
        telnet = TelnetClient(settings: settings, makeDecompressor: makeDecompressor)
        phase = .connected
        sessionID = session.id
        history = SessionHistory(numbering: kind.dialect?.numbering ?? .messages, maximumBytes: outputBufferBytes)
        dialect.sessionBegan(session, isResumable: isResumable, into: &output.frames)
        carryOutWaiting(into: &output)
    }

    /// The target wasn't reached or isn't allowed.
    package mutating func dialFailed(_ failure: DialFailure, into output: inout TranslationOutput) {
        guard phase == .dialing else { return }
        waiting = WaitingCommands()
        inputs = InputLedger()
        phase = .idle
        if let reason = dialect.encode(failure, into: &output.frames) { close(reason, into: &output) }
    }

    /// Takes one event off the front of `input` and sends it to the client.
    ///
    /// - Parameters:
    ///   - input: the target's bytes, including those that earlier calls left.
    ///   - now: nanoseconds of a monotonic clock.
    ///   - canReply: there is room toward the target. Without it telnet's answers stay inside, within limits, until
    ///     ``reply(into:)`` or a later call.
    /// - Returns: false if `input` is used up or the session isn't connected. Otherwise there was an event, or
    ///   ``stepsPerEvent`` commands without one.
    package mutating func next(
        _ input: inout ArraySlice<UInt8>, now: UInt64, canReply: Bool = true, into output: inout TranslationOutput
    ) -> Bool {
        guard phase == .connected else { return false }
        let before = telnet?.stepCount ?? 0
        let progress = telnet?.advance(&input, now: now, steps: Self.stepsPerEvent) ?? .usedUp
        holdsBytes = telnet?.holdsBytes ?? false
        output.steps = (telnet?.stepCount ?? before) &- before
        if case .event(let event) = progress { dialect.encode(event, keeping: &history, into: &output.frames) }
        if canReply { reply(into: &output) }
        if let failure = telnet?.failure {
            input = []
            brokenStream = failure
            end(.targetBroken, into: &output)
        }
        if case .usedUp = progress { return false }
        return true
    }

    /// The target sends no more. Call this after ``next(_:now:canReply:into:)`` has taken all its bytes.
    package mutating func targetClosed(_ reason: CloseReason = .targetClosed, into output: inout TranslationOutput) {
        guard phase == .connected else { return }
        if let event = telnet?.finish() { dialect.encode(event, keeping: &history, into: &output.frames) }
        end(reason, into: &output)
    }

    /// Sends telnet's NOP to a target that has received nothing for a long time, if it negotiates.
    package mutating func keepAlive(into output: inout TranslationOutput) {
        guard phase == .connected else { return }
        telnet?.keepAlive(to: &output.toTarget)
    }

    /// Puts out telnet's replies, then the commands that waited for an option that these replies may have brought into
    /// force.
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

/// The output of one step of a ``Translation``. The session reuses one value: it carries out its contents after each
/// step and empties it.
package struct TranslationOutput: Sendable {
    /// Messages for the client, to be sent before the orders are carried out.
    package var frames = FrameBuffer()
    /// Bytes for the target.
    package var toTarget: [UInt8] = []
    package var orders: [TranslationOrder] = []
    /// The target's commands and pieces of text that ``Translation/next(_:now:canReply:into:)`` has processed.
    package var steps = 0

    package init() {}

    package mutating func removeAll() {
        frames.removeAll()
        toTarget.removeAll(keepingCapacity: toTarget.capacity <= FrameBuffer.keptCapacity)
        steps = 0
        orders = []  // Rare, and the session still holds the array: emptying it in place would copy it.
    }
}

package enum TranslationOrder: Equatable, Sendable {
    /// Authorise this target and connect to it, or keep the existing connection if the target is the same. Answered
    /// with ``Translation/connected(_:telnet:into:)`` or ``Translation/dialFailed(_:into:)``.
    case dial(TargetRequest)
    /// Resume the client's earlier session, if it is its own: this translation's session is dropped, and the resumed
    /// one calls ``Translation/attached(_:after:into:)`` of its own translation. Otherwise call
    /// ``Translation/resumeFailed(_:into:)``. Messages of the client before the answer are refused.
    case resume(ResumeRequest)
    /// Write both queues, then close the WebSocket for this reason and finish the target.
    case close(CloseReason)
}
