import Telnet

/// A session and the connections that it has one after the other.
extension Translation {
    /// Whether the session outlives its WebSocket: its dialect has numbers, something is kept, and it lives.
    package var isResumable: Bool { outputBufferBytes > 0 && phase == .connected }

    /// Whether a WebSocket that closes so ends the session with it. Otherwise the client may come back.
    ///
    /// - Parameter closeCode: of the client's Close frame; nil: there was none, or one without a code.
    package func endsSession(closeCode: UInt16?) -> Bool {
        !isResumable || dialect.endsSession(closeCode: closeCode)
    }

    /// The WebSocket is gone. What the target says is recorded all the same; the messages put out meanwhile are for nobody.
    package mutating func detached() {
        gatherer.beginAnew()
        history.clientLeft()
    }

    /// The client has a new WebSocket, in place of one that was lost or that is being replaced. Says who the session is now, what is gone
    /// for good, what the client must know again, and all that is kept behind `lastSeq`.
    ///
    /// - Parameter session: with the same id and a new token.
    package mutating func attached(
        _ session: SessionIdentity, after lastSeq: UInt64, into output: inout TranslationOutput
    ) {
        guard isResumable else { return }
        gatherer.beginAnew()
        history.clientCame()
        dialect.sessionResumed(session, history, after: lastSeq, into: &output.frames)
    }

    /// The query of the upgrade names a session: nothing else is asked for before ``resumeFailed(_:into:)``.
    package mutating func beginResuming() {
        if phase == .idle { phase = .resuming }
    }

    /// The answer to ``TranslationOrder/resume(_:)``, or to the query of an upgrade that named a session, if there is none to give.
    package mutating func resumeFailed(_ failure: ResumeFailure, into output: inout TranslationOutput) {
        guard phase == .resuming || (phase == .dialing && !awaitsConnect) else { return }
        waiting = WaitingCommands()
        phase = .idle
        if let reason = dialect.encode(failure, into: &output.frames) { close(reason, into: &output) }
    }

    /// Tells a target that has agreed to GMCP whether there is a client: `Portcullis.Session {"state":…}`.
    package mutating func tellTarget(isAttached: Bool, into output: inout TranslationOutput) {
        guard phase == .connected else { return }
        let state = isAttached ? "attached" : "detached"
        _ = telnet?.appendGMCP(
            name: "Portcullis.Session", data: Array(#"{"state":"\#(state)"}"#.utf8), to: &output.toTarget)
    }

    // MARK: Notices

    /// Hands the client a ticket for its next upgrade, in dialects that have a place for it.
    ///
    /// - Parameter expiresIn: seconds.
    package func send(ticket: String, expiresIn: Int, into output: inout TranslationOutput) {
        dialect.encode(ticket: ticket, expiresIn: expiresIn, into: &output.frames)
    }

    /// The gateway is about to close; the client should come back after this time.
    package func sendDraining(reconnectAfterMilliseconds: Int, into output: inout TranslationOutput) {
        dialect.encode(reconnectAfterMilliseconds: reconnectAfterMilliseconds, into: &output.frames)
    }
}
