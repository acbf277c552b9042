/// The client's end of one telnet connection: a network virtual terminal (RFC 854) with the options of MUD clients.
///
/// It is pulled: ``next(_:now:)`` takes one event off the front of the target's bytes. A caller can therefore stop
/// after any event while its own peer is slow, and continue later with the rest of that buffer. Data for the target
/// waits in ``takeReplies()``; if the caller can't send and leaves it there, the target's further requests go
/// unanswered.
///
/// Whatever a target sends, it holds at most one subnegotiation, one piece of inflated text,
/// ``ReplyBuffer/maximumBytes`` of replies and what its decompressor needs.
package struct TelnetClient {
    /// The longest ``TargetEvent/text(_:)``.
    package static let maximumTextBytes = 16_384

    var settings: TelnetClientSettings
    var identity: ClientIdentity
    var negotiation: OptionNegotiation
    var replies = ReplyBuffer()
    var terminalType = TerminalType()
    var windowSize: WindowSize
    var isEnvironmentAnnouncementDue = false
    var encoder = TelnetEncoder()
    var textEncoder: TextEncoder
    var compression: MCCP2
    /// Not nil while MXP is in force and its markup is removed.
    var stripper: MXPStripper?

    var parser: TelnetParser
    var textDecoder: TextDecoder
    /// Inflated bytes that haven't been parsed.
    var inflated: ArraySlice<UInt8> = []
    /// An event that follows the one just delivered.
    var pending: TargetEvent?
    /// A subnegotiation whose variables are delivered one by one.
    var msdp: MSDPReader?
    var hasTextSincePrompt = false
    /// The target has negotiated an option, so it reads telnet commands itself.
    var negotiates = false

    /// Set once and never cleared: nothing is delivered after it.
    package private(set) var failure: TelnetFailure?

    /// - Parameter makeDecompressor: makes a decompressor for one zlib stream; nil: MCCP2 is refused, whatever the
    ///   settings say.
    package init(settings: TelnetClientSettings, makeDecompressor: (@Sendable () -> any Decompressor)? = nil) {
        self.settings = settings
        identity = ClientIdentity(settings)
        windowSize = WindowSize(columns: settings.columns, rows: settings.rows)
        compression = MCCP2(limits: settings.decompression, makeDecompressor: makeDecompressor)
        negotiation = Self.negotiation(
            mxp: settings.mxp, compresses: settings.mccp == .on && makeDecompressor != nil)
        parser = TelnetParser(maximumSubnegotiationBytes: settings.maximumSubnegotiationBytes)
        textDecoder = TextDecoder(encoding: settings.encoding, tables: settings.tables)
        textEncoder = TextEncoder(encoding: settings.encoding, tables: settings.tables)
    }

    /// Bytes from the target are stored inside and wait for ``next(_:now:)``, even without new input. Read for each
    /// message, so it is a stored property: computing it from another module would copy this whole value.
    package internal(set) var holdsBytes = false

    /// The commands and pieces that were processed so far. Stored, for the same reason.
    package private(set) var stepCount = 0

    /// The current encoding of the target's text.
    package var encoding: TextEncoding { textDecoder.encoding }

    /// Takes the target's bytes off the front of `input` up to the end of one event.
    ///
    /// - Parameter now: nanoseconds of any epoch, for the rate of inflated bytes.
    /// - Returns: nil when `input` is used up and nothing is held back, or after a ``failure``.
    package mutating func next(_ input: inout ArraySlice<UInt8>, now: UInt64) -> TargetEvent? {
        while true {
            switch advance(&input, now: now, steps: .max) {
            case .event(let event): return event
            case .underWay: continue
            case .usedUp: return nil
            }
        }
    }

    /// Like ``next(_:now:)``, but bounded, for callers that serve several connections: much of a target's input yields
    /// no event.
    ///
    /// - Parameter steps: the most commands and pieces to process.
    package mutating func advance(
        _ input: inout ArraySlice<UInt8>, now: UInt64, steps: Int
    ) -> TelnetProgress {
        defer {
            holdsBytes =
                failure == nil && (pending != nil || msdp != nil || !inflated.isEmpty || compression.holdsBytes)
        }
        for _ in 0..<steps {
            guard failure == nil else { break }
            stepCount &+= 1
            if let event = takeHeldEvent() { return .event(event) }
            if !inflated.isEmpty {
                var bytes = inflated
                inflated = []
                let event = step(&bytes, isInflated: true)
                inflated = bytes.isEmpty ? [] : bytes
                if let event { return .event(event) }
            } else if compression.isActive {
                guard !input.isEmpty || compression.holdsBytes else { return .usedUp }
                inflate(&input, now)
            } else {
                guard !input.isEmpty else { return .usedUp }
                if let event = step(&input, isInflated: false) { return .event(event) }
            }
        }
        guard failure != nil else { return .underWay }
        input = input[input.endIndex...]
        return .usedUp
    }

    /// Call this when the target has ended its stream and ``next(_:now:)`` has returned nil. Returns text that was held
    /// back because it was incomplete.
    package mutating func finish() -> TargetEvent? {
        failure == nil ? textEvent(flushText()) : nil
    }

    private mutating func takeHeldEvent() -> TargetEvent? {
        if let event = pending {
            pending = nil
            return event
        }
        guard msdp != nil else { return nil }
        if let entry = msdp?.next() { return .msdp(name: entry.name, value: entry.value) }
        msdp = nil
        return nil
    }

    private mutating func inflate(_ input: inout ArraySlice<UInt8>, _ now: UInt64) {
        do throws(TelnetFailure) {
            inflated = try compression.inflate(&input, now: now)[...]
        } catch {
            failure = error
        }
    }

    /// Passes the parser what it needs for one of its events, and no more text than fits into one event of ours.
    private mutating func step(_ bytes: inout ArraySlice<UInt8>, isInflated: Bool) -> TargetEvent? {
        let whole = bytes
        var window = whole.prefix(stripper == nil ? Self.plainWindowBytes : Self.strippedWindowBytes)
        let event = parser.next(&window)
        bytes = whole[window.startIndex...]
        switch event {
        case .data(var run)?:
            let text = takeText(&run)
            // Bytes without room are returned to the input. Only the run's first byte could be an IAC, and that one is
            // consumed.
            bytes = whole[run.startIndex...]
            return textEvent(text)
        case .command(.goAhead)?, .command(.endOfRecord)?:
            return promptEvent()
        case .negotiation(let verb, let option)?:
            return negotiated(verb, option)
        case .subnegotiation(.msdp, let payload)?:
            if negotiation.isOn(.msdp, .remote) { msdp = MSDPReader(payload) }
            return takeHeldEvent()
        case .subnegotiation(.mccp2, _)?:
            // A compressed stream inside a compressed stream is invalid.
            if negotiation.isOn(.mccp2, .remote), !isInflated { compression.begin() }
            return nil
        case .subnegotiation(let option, let payload)?:
            return subnegotiated(option, payload)
        case .command?, .droppedSubnegotiation?, nil:
            return nil
        }
    }

    // MARK: Text

    /// UTF-8 of this length becomes one event unchanged, even after the rest of a split character.
    private static let plainWindowBytes = maximumTextBytes - 16
    /// Fits into one event even with a held tag that turns out to be text, and with three bytes for each byte.
    private static let strippedWindowBytes = 2_048

    private mutating func takeText(_ run: inout ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        guard var stripped = stripper?.strip(run)[...] else {
            return textDecoder.decode(&run, limit: Self.maximumTextBytes)
        }
        run = run[run.endIndex...]
        return textDecoder.decode(&stripped, limit: Self.maximumTextBytes)
    }

    /// The text held back for a split character or an unfinished tag.
    mutating func flushText() -> ArraySlice<UInt8> {
        var markup = (stripper?.flush() ?? [])[...]
        let text = textDecoder.decode(&markup, limit: Self.maximumTextBytes)
        return text + textDecoder.flush()
    }

    mutating func textEvent(_ text: ArraySlice<UInt8>) -> TargetEvent? {
        guard !text.isEmpty else { return nil }
        hasTextSincePrompt = true
        return .text(text)
    }

    /// A prompt mark without text before it is ignored.
    private mutating func promptEvent() -> TargetEvent? {
        let text = textEvent(flushText())
        guard hasTextSincePrompt else { return nil }
        hasTextSincePrompt = false
        guard let text else { return .prompt }
        pending = .prompt
        return text
    }

    /// Changes the encoding of both directions from now on.
    mutating func change(to encoding: TextEncoding) -> TargetEvent? {
        let text = flushText()
        _ = textDecoder.change(to: encoding)
        textEncoder.change(to: encoding)
        return textEvent(text)
    }
}

/// The result of processing some of a target's bytes.
package enum TelnetProgress: Sendable {
    case event(TargetEvent)
    /// No event yet, and there is more to process.
    case underWay
    /// No event and no input left, or the stream has failed.
    case usedUp
}
