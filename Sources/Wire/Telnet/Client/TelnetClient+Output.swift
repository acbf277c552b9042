import WireText

/// Output to the target.
extension TelnetClient {
    /// Data that waits to be sent: answers to the target's requests, and a changed size or description, which is sent
    /// once however often it changed. Take it only while there is room toward the target.
    package mutating func takeReplies() -> [UInt8] {
        var output = replies.take()
        if let size = windowSize.take() { TelnetEncoder.appendSubnegotiation(.windowSize, size, to: &output) }
        if isEnvironmentAnnouncementDue {
            isEnvironmentAnnouncementDue = false
            let changed = environment.filter { Self.describedVariables.containsBytes(of: $0.name) }
            TelnetEncoder.appendSubnegotiation(
                .newEnvironment, NewEnvironment.announcement(of: changed), to: &output)
        }
        return output
    }

    private static let describedVariables = ["CLIENT_NAME", "CLIENT_VERSION", "TERMINAL_TYPE"]

    /// Appends a player's input in the target's encoding: by the NVT's rules for CR and LF, or with a single line-end
    /// byte while BINARY (RFC 856) is in force for us. IAC is doubled in both cases.
    ///
    /// - Parameter text: UTF-8. A character may be split between two calls.
    package mutating func appendInput(_ text: ArraySlice<UInt8>, to output: inout [UInt8]) {
        let bytes = textEncoder.encode(text)
        if negotiation.isOn(.binary, .local) {
            encoder.appendBinaryText(bytes, to: &output)
        } else {
            encoder.appendText(bytes, to: &output)
        }
    }

    /// - Returns: false, and nothing is appended, if GMCP isn't in force or `name` isn't graphic ASCII of at most
    ///   ``GMCP/maximumNameBytes``.
    package mutating func appendGMCP(name: String, data: [UInt8], to output: inout [UInt8]) -> Bool {
        guard isInForce(.gmcp), let payload = GMCP.payload(name: name, data: data) else { return false }
        TelnetEncoder.appendSubnegotiation(.gmcp, payload, to: &output)
        return true
    }

    /// - Returns: false, and nothing is appended, if MSDP isn't in force, a name is empty or the value deeper than
    ///   ``MSDP/maximumDepth``.
    package mutating func appendMSDP(name: String, value: MSDPValue, to output: inout [UInt8]) -> Bool {
        guard isInForce(.msdp), let payload = MSDP.payload(name: name, value: value) else { return false }
        TelnetEncoder.appendSubnegotiation(.msdp, payload, to: &output)
        return true
    }

    /// Sets the size of the player's window in characters. ``takeReplies()`` announces it while NAWS is in force.
    package mutating func resize(columns: UInt16, rows: UInt16) {
        windowSize.resize(columns: columns, rows: rows, isInForce: negotiation.isOn(.windowSize, .local))
    }

    /// Sets the client's description; nil: unchanged. A target that has requested it through NEW-ENVIRON is informed.
    package mutating func describe(clientName: String?, version: String?, terminalType: String?) {
        let before = identity
        identity.update(name: clientName, version: version, terminalType: terminalType)
        if identity != before, negotiation.isOn(.newEnvironment, .local) { isEnvironmentAnnouncementDue = true }
    }

    /// Appends a NOP (RFC 854), so that no device on the path drops an idle connection. A target that has negotiated
    /// nothing gets none: it may not speak telnet, and take the NOP for input.
    package func keepAlive(to output: inout [UInt8]) {
        if negotiates { TelnetEncoder.appendCommand(.noOperation, to: &output) }
    }
}

/// Replies that wait to be sent to the target. A reply is stored whole or not at all, so requests whose answers can't
/// be sent cost no memory: the target's requests beyond the limit go unanswered until the replies have been taken.
struct ReplyBuffer: Codable {
    /// A normal handshake uses a tenth of it.
    static let maximumBytes = 16_384

    private(set) var bytes: [UInt8] = []

    func hasRoom(for count: Int) -> Bool { count <= Self.maximumBytes - bytes.count }

    mutating func append(_ reply: [UInt8]) {
        if hasRoom(for: reply.count) { bytes += reply }
    }

    mutating func appendSubnegotiation(_ option: TelnetOption, _ payload: [UInt8]) {
        // A payload that can't fit isn't worth escaping. The framing takes five bytes.
        guard hasRoom(for: payload.count + 5) else { return }
        var reply: [UInt8] = []
        TelnetEncoder.appendSubnegotiation(option, payload, to: &reply)
        append(reply)
    }

    mutating func take() -> [UInt8] {
        defer { bytes = [] }
        return bytes
    }
}

/// An event from the target to its client, in stream order: telnet commands as events, text as UTF-8.
package enum TargetEvent: Sendable {
    /// Text with its ANSI sequences: valid UTF-8, never empty, no split character, no NUL, at most
    /// ``TelnetClient/maximumTextBytes``. Line ends are the target's own, usually CR LF. Text that needed no change is
    /// a slice of the input and must be used before the input is.
    case text(ArraySlice<UInt8>)
    /// The text before it is a prompt, because GA (RFC 854) or EOR (RFC 885) followed it.
    case prompt
    /// ECHO (RFC 857): true while the target does the echoing and so hides the player's input.
    case echo(isSuppressed: Bool)
    /// A GMCP message. The name is graphic ASCII; `data` is the rest as valid UTF-8, or empty. The dialect checks
    /// whether it is JSON.
    case gmcp(name: String, data: [UInt8])
    case atcp(name: String, text: String)
    case msdp(name: String, value: MSDPValue)
    /// MSSP: a target's description of itself for crawlers.
    case mssp([MSSPVariable])
}

extension TargetEvent: Equatable {
    package static func == (one: TargetEvent, other: TargetEvent) -> Bool {
        switch (one, other) {
        case (.text(let one), .text(let other)): one == other
        case (.prompt, .prompt): true
        case (.echo(let one), .echo(let other)): one == other
        case (.gmcp(let one, let data), .gmcp(let other, let otherData)):
            one.hasSameBytes(as: other) && data == otherData
        case (.atcp(let one, let text), .atcp(let other, let otherText)):
            one.hasSameBytes(as: other) && text.hasSameBytes(as: otherText)
        case (.msdp(let one, let value), .msdp(let other, let otherValue)):
            one.hasSameBytes(as: other) && value == otherValue
        case (.mssp(let one), .mssp(let other)): one == other
        default: false
        }
    }
}

/// Why a telnet connection can't go on. Its session must end.
package enum TelnetFailure: Error, Hashable, Sendable {
    /// The compressed stream is corrupt: everything after it is lost.
    case corruptCompression
    /// The stream inflates to more than ``DecompressionLimits/ratio`` allows.
    case compressionRatio
    /// The stream inflates faster than ``DecompressionLimits/bytesPerSecond``.
    case compressionRate
    /// No memory for the decompressor.
    case outOfMemory
}
