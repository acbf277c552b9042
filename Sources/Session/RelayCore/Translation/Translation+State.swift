import Telnet

extension Translation {
    /// Everything that a session without a client knows of its target and keeps for its client.
    package struct State: Codable {
        var kind: DialectKind
        var client: ClientDescription
        var outputBufferBytes: Int
        var telnet: TelnetClient.State
        var waiting: WaitingCommands
        var sessionID: String
        var history: SessionHistory
        var inputs: InputLedger
    }

    /// Nil where the session can't be moved at this point: it can't be resumed, or its target's compressed stream is
    /// inside a block.
    package var state: State? {
        guard isResumable, let telnet = telnet?.state else { return nil }
        return State(
            kind: kind, client: client, outputBufferBytes: outputBufferBytes, telnet: telnet, waiting: waiting,
            sessionID: sessionID, history: history, inputs: inputs)
    }
}
