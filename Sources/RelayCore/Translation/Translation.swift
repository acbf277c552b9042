package import Telnet

/// One session's translator: a client's dialect on one side, the target's telnet on the other.
///
/// Pure: bytes and messages in; messages, bytes and orders out, in a ``TranslationOutput`` that the driver carries out after each
/// call. Toward the client it is pulled: ``next(_:now:into:)`` takes one event at a time off the front of what the target has sent,
/// and the driver stops when the client's queue is above its mark. So it never holds more than one event's messages, whatever the
/// target sends.
///
/// ```
///          connect (typed, legacy)          connected
///   idle ───────────────────────▶ dialing ────────────▶ connected ──▶ ended
///    ▲      the others begin here ──▲  │
///    └──── dialFailed, typed ──────────┘  dialFailed, others ──▶ ended
/// ```
package struct Translation {
    /// `MAX_MESSAGE_BYTES`
    package static let defaultMaximumMessageBytes = 65_536

    private enum Phase {
        case idle
        case dialing
        case connected
        case ended
    }

    private var dialect: any Dialect
    private let makeDecompressor: (@Sendable () -> any Decompressor)?
    private var client: ClientDescription
    private var gatherer: MessageGatherer
    private var phase: Phase
    private var telnet: TelnetClient?
    /// While dialing: everything. While connected: GMCP and MSDP that the target hasn't agreed to yet.
    private var waiting = WaitingCommands()
    private var canAnswer = true

    /// nil for ``DialectKind/raw``, which nobody translates.
    ///
    /// - Parameters:
    ///   - client: what the query of the upgrade says of the client.
    ///   - compressor: for the legacy dialect.
    ///   - makeDecompressor: for MCCP2; nil: it's refused.
    package init?(
        kind: DialectKind, client: ClientDescription, maximumMessageBytes: Int = defaultMaximumMessageBytes,
        compressor: any FrameCompressor, makeDecompressor: (@Sendable () -> any Decompressor)?
    ) {
        switch kind {
        case .raw: return nil
        case .terminal: dialect = TerminalDialect()
        case .gmcp: dialect = GMCPDialect()
        case .json: dialect = JSONDialect()
        case .typed: dialect = TypedDialect()
        case .legacy: dialect = LegacyDialect(compressor: compressor)
        }
        self.client = client
        self.makeDecompressor = makeDecompressor
        gatherer = MessageGatherer(limit: maximumMessageBytes)
        phase = dialect.awaitsConnect ? .idle : .dialing
    }

    /// The client names its target in a message, and a ``TranslationOrder/dial(_:columns:rows:)`` follows. Otherwise the driver
    /// dials the connection's target by itself.
    package var awaitsConnect: Bool { dialect.awaitsConnect }

    /// Whether ``next(_:now:into:)`` takes anything: before ``connected(_:telnet:into:)`` the target's bytes stay where they are.
    package var isConnected: Bool { phase == .connected }

    /// The last message has been said: a ``TranslationOrder/close(_:)`` was given.
    package var hasEnded: Bool { phase == .ended }

    /// The target's bytes lie inside and wait for ``next(_:now:into:)``, even if there is no input.
    package var holdsBytes: Bool { telnet?.holdsBytes ?? false }

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
        dialect.sessionBegan(session, into: &output.frames)
        carryOutWaiting(into: &output)
    }

    /// The target wasn't reached, or may not be.
    package mutating func dialFailed(_ failure: DialFailure, into output: inout TranslationOutput) {
        guard phase == .dialing else { return }
        waiting = WaitingCommands()
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
    /// - Returns: whether there was one. False: `input` is used up, or the session isn't connected.
    package mutating func next(
        _ input: inout ArraySlice<UInt8>, now: UInt64, canReply: Bool = true, into output: inout TranslationOutput
    ) -> Bool {
        guard phase == .connected else { return false }
        let event = telnet?.next(&input, now: now)
        if let event { dialect.encode(event, into: &output.frames) }
        if canReply { reply(into: &output) }
        if telnet?.failure != nil {
            input = []
            end(.targetBroken, into: &output)
        }
        return event != nil
    }

    /// The target will say no more. To be called when everything it said has been taken by ``next(_:now:into:)``.
    package mutating func targetClosed(_ reason: CloseReason = .targetClosed, into output: inout TranslationOutput) {
        guard phase == .connected else { return }
        if let event = telnet?.finish() { dialect.encode(event, into: &output.frames) }
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
        dialect.sessionEnded(into: &output.frames)
        close(reason, into: &output)
    }

    private mutating func close(_ reason: CloseReason, into output: inout TranslationOutput) {
        phase = .ended
        telnet = nil
        output.orders.append(.close(reason))
    }

    // MARK: The client

    /// A piece of a message. Nothing happens before its last one.
    ///
    /// - Parameter canAnswer: there is room toward the client. Without it errors are left out: a client that sends nonsense and reads
    ///   nothing would otherwise fill its own queue without bound.
    package mutating func receive(
        _ piece: ArraySlice<UInt8>, isText: Bool, isLast: Bool, canAnswer: Bool = true,
        into output: inout TranslationOutput
    ) {
        self.canAnswer = canAnswer
        defer { self.canAnswer = true }
        guard phase != .ended, let message = gatherer.take(piece, isLast: isLast) else { return }
        guard case .complete(let bytes) = message else { return refuse(.tooLarge, into: &output) }
        do {
            accept(try dialect.command(of: bytes, isText: isText), into: &output)
        } catch {
            refuse(error, into: &output)
        }
    }

    /// Hands the client a ticket for its next upgrade, in dialects that have a place for it.
    package func send(ticket: String, into output: inout TranslationOutput) {
        dialect.encode(ticket: ticket, into: &output.frames)
    }

    private mutating func refuse(_ error: DialectError, into output: inout TranslationOutput) {
        if canAnswer { dialect.encode(error, into: &output.frames) }
        if let reason = error.close { close(reason, into: &output) }
    }

    private mutating func accept(_ command: ClientCommand, into output: inout TranslationOutput) {
        switch command {
        case .connect(let target, let description): connect(target, description, into: &output)
        case .resume: refuse(.sessionExpired, into: &output)
        case .disconnect: close(.clientDisconnected, into: &output)
        case .nothing(.no): break
        case .nothing(.yes), .input, .gmcp, .msdp, .resize, .describe: acceptForSession(command, into: &output)
        }
    }

    private mutating func connect(
        _ target: TargetRequest, _ description: ClientDescription, into output: inout TranslationOutput
    ) {
        guard phase == .idle else { return refuse(.alreadyConnected, into: &output) }
        client.merge(description)
        phase = .dialing
        output.orders.append(.dial(target, columns: client.columns, rows: client.rows))
    }

    private mutating func acceptForSession(_ command: ClientCommand, into output: inout TranslationOutput) {
        guard phase == .dialing || phase == .connected else { return refuse(.noSession, into: &output) }
        if let description = command.description { describe(description) }
        let isCarriedOut = phase == .connected ? carryOut(command, into: &output) : !command.isForTarget
        if !isCarriedOut, !waiting.append(command) {
            refuse(phase == .dialing ? .tooEarly : .notInForce, into: &output)
        }
        reply(into: &output)
    }

    /// Said to the target by telnet, as soon as there is one.
    private mutating func describe(_ description: ClientDescription) {
        client.merge(description)
        if let columns = description.columns, let rows = description.rows {
            telnet?.resize(columns: columns, rows: rows)
        } else {
            telnet?.describe(
                clientName: description.name, version: description.version, terminalType: description.terminalType)
        }
    }

    // MARK: From the client to the target

    /// In the order they came; what still finds its option not in force waits on.
    private mutating func carryOutWaiting(into output: inout TranslationOutput) {
        for command in waiting.takeAll() where !carryOut(command, into: &output) {
            _ = waiting.append(command)
        }
    }

    /// - Returns: false if the target hasn't agreed to the option that this takes.
    private mutating func carryOut(_ command: ClientCommand, into output: inout TranslationOutput) -> Bool {
        switch command {
        case .input(let text): telnet?.appendInput(text, to: &output.toTarget)
        case .gmcp(let name, let data): return telnet?.appendGMCP(name: name, data: data, to: &output.toTarget) ?? false
        case .msdp(let name, let value):
            return telnet?.appendMSDP(name: name, value: value, to: &output.toTarget) ?? false
        case .resize, .describe, .connect, .resume, .disconnect, .nothing: break
        }
        return true
    }
}

extension ClientCommand {
    fileprivate var isForTarget: Bool {
        switch self {
        case .input, .gmcp, .msdp: true
        case .resize, .describe, .connect, .resume, .disconnect, .nothing: false
        }
    }

    /// What the client says of itself by it. A client that greets the target over GMCP has said there who it is.
    fileprivate var description: ClientDescription? {
        switch self {
        case .resize(let columns, let rows): return ClientDescription(columns: columns, rows: rows)
        case .describe(let description): return description
        case .gmcp("Core.Hello", let data):
            guard case .object(let hello)? = try? JSONReader.read(data[...]) else { return nil }
            return ClientDescription(name: hello.text("client"), version: hello.text("version"))
        default: return nil
        }
    }
}
