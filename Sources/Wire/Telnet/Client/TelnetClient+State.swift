/// A telnet connection that goes on in another process.
extension TelnetClient {
    /// Everything that a client knows of its connection. Limits that can be set are those of the process that goes on,
    /// except where they are part of an account.
    package struct State: Codable {
        var settings: CarriedSettings
        var identity: ClientIdentity
        var negotiation: OptionNegotiation
        var replies: ReplyBuffer
        var terminalType: TerminalType
        var windowSize: WindowSize
        var isEnvironmentAnnouncementDue: Bool
        var encoder: TelnetEncoder
        var textEncoder: TextState
        var textDecoder: TextState
        var compression: MCCP2.State
        var stripper: MXPStripper?
        var parser: TelnetParser
        var inflated: [UInt8]
        /// No other event is ever held back.
        var isPromptPending: Bool
        var msdp: MSDPReader.State?
        var hasTextSincePrompt: Bool
        var holdsBytes: Bool
        /// Programs of before don't say.
        var negotiates: Bool?
    }

    /// What the settings say of this connection, and not of all.
    struct CarriedSettings: Codable {
        var name, version, terminalType: String
        var address: String?
        var encoding: TextEncoding
        var mxp: MXPMode
        var columns, rows: UInt16
        var isSecure: Bool
    }

    /// Nil where the connection can't be moved at this point: it has failed, or its compressed stream is inside a
    /// block.
    package var state: State? {
        guard failure == nil, let compression = compression.state, pending == nil || pending == .prompt else {
            return nil
        }
        return State(
            settings: CarriedSettings(settings), identity: identity, negotiation: negotiation, replies: replies,
            terminalType: terminalType, windowSize: windowSize,
            isEnvironmentAnnouncementDue: isEnvironmentAnnouncementDue, encoder: encoder,
            textEncoder: textEncoder.state, textDecoder: textDecoder.state, compression: compression,
            stripper: stripper, parser: parser, inflated: Array(inflated), isPromptPending: pending != nil,
            msdp: msdp?.state, hasTextSincePrompt: hasTextSincePrompt, holdsBytes: holdsBytes,
            negotiates: negotiates)
    }

    /// - Parameter settings: of the process that goes on.
    /// - Returns: nil where the compressed stream can't be continued.
    package init?(
        _ state: State, settings: TelnetClientSettings, makeDecompressor: (@Sendable () -> any Decompressor)?,
        restoring: DecompressorRestorer
    ) {
        let compression = MCCP2(state.compression, makeDecompressor: makeDecompressor, restoring: restoring)
        guard let compression else { return nil }
        self.init(settings: state.settings.applied(to: settings), makeDecompressor: makeDecompressor)
        self.compression = compression
        identity = state.identity
        negotiation = state.negotiation
        replies = state.replies
        terminalType = state.terminalType
        windowSize = state.windowSize
        isEnvironmentAnnouncementDue = state.isEnvironmentAnnouncementDue
        encoder = state.encoder
        textEncoder = TextEncoder(state.textEncoder, tables: settings.tables)
        textDecoder = TextDecoder(state.textDecoder, tables: settings.tables)
        stripper = state.stripper
        parser = state.parser
        inflated = state.inflated[...]
        pending = state.isPromptPending ? .prompt : nil
        msdp = state.msdp.map { MSDPReader($0) }
        hasTextSincePrompt = state.hasTextSincePrompt
        holdsBytes = state.holdsBytes
        negotiates = state.negotiates ?? false
    }
}

extension TelnetClient.CarriedSettings {
    init(_ settings: TelnetClientSettings) {
        name = settings.clientName
        version = settings.clientVersion
        terminalType = settings.terminalType
        address = settings.address
        encoding = settings.encoding
        mxp = settings.mxp
        columns = settings.columns
        rows = settings.rows
        isSecure = settings.isSecure
    }

    func applied(to settings: TelnetClientSettings) -> TelnetClientSettings {
        var settings = settings
        settings.clientName = name
        settings.clientVersion = version
        settings.terminalType = terminalType
        settings.address = address
        settings.encoding = encoding
        settings.mxp = mxp
        settings.columns = columns
        settings.rows = rows
        settings.isSecure = isSecure
        return settings
    }
}

/// A text in one direction, between two characters or inside one.
struct TextState: Codable, Hashable {
    var encoding: TextEncoding
    /// The beginning of a split character.
    var partial: [UInt8]
}
