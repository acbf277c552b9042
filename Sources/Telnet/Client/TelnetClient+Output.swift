/// What goes to the target.
extension TelnetClient {
    /// What the client wants sent: answers to the target's requests, and a changed size or description, once however often it changed.
    /// Take them only while there is room toward the target.
    package mutating func takeReplies() -> [UInt8] {
        var output = replies.take()
        if let size = windowSize.take() { TelnetEncoder.appendSubnegotiation(.windowSize, size, to: &output) }
        if isEnvironmentAnnouncementDue {
            isEnvironmentAnnouncementDue = false
            let changed = environment.filter { Self.describedVariables.contains($0.name) }
            TelnetEncoder.appendSubnegotiation(
                .newEnvironment, NewEnvironment.announcement(of: changed), to: &output)
        }
        return output
    }

    private static let describedVariables: Set = ["CLIENT_NAME", "CLIENT_VERSION", "TERMINAL_TYPE"]

    /// Appends what a player typed, in the target's encoding: by the NVT's rules for CR and LF, or with one byte for a line's end while the
    /// target has us send BINARY (RFC 856). IAC is doubled in either.
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

    /// - Returns: false, and nothing is appended, if MSDP isn't in force, a name is empty or the value deeper than ``MSDP/maximumDepth``.
    package mutating func appendMSDP(name: String, value: MSDPValue, to output: inout [UInt8]) -> Bool {
        guard isInForce(.msdp), let payload = MSDP.payload(name: name, value: value) else { return false }
        TelnetEncoder.appendSubnegotiation(.msdp, payload, to: &output)
        return true
    }

    /// The player's window has this size, in characters. ``takeReplies()`` tells it while NAWS is in force.
    package mutating func resize(columns: UInt16, rows: UInt16) {
        windowSize.resize(columns: columns, rows: rows, isInForce: negotiation.isOn(.windowSize, .local))
    }

    /// What the client says of itself from now on; nil: as before. A target that has asked for it through NEW-ENVIRON is told.
    package mutating func describe(clientName: String?, version: String?, terminalType: String?) {
        let before = identity
        identity.update(name: clientName, version: version, terminalType: terminalType)
        if identity != before, negotiation.isOn(.newEnvironment, .local) { isEnvironmentAnnouncementDue = true }
    }

    /// Appends a NOP, so that nothing between here and the target forgets an idle connection.
    package mutating func keepAlive(to output: inout [UInt8]) {
        TelnetEncoder.appendCommand(.noOperation, to: &output)
    }
}
