import Telnet

/// A session and its successive client connections.
extension Translation {
    /// Whether the session outlives its WebSocket: its dialect numbers messages, output is kept, and the target is
    /// connected.
    package var isResumable: Bool { keepsOutput && phase == .connected }

    /// Whether the session will be resumable once its target is connected.
    package var keepsOutput: Bool { outputBufferBytes > 0 }

    /// Whether closing the WebSocket with this code also ends the session. Otherwise the client may come back.
    ///
    /// - Parameter closeCode: of the client's Close frame; nil: there was no frame, or one without a code.
    package func endsSession(closeCode: UInt16?) -> Bool {
        !isResumable || dialect.endsSession(closeCode: closeCode)
    }

    /// The WebSocket is gone. The target's output is still recorded; messages written meanwhile have no recipient.
    package mutating func detached() {
        gatherer.beginAnew()
        history.clientLeft()
    }

    /// The client has a new WebSocket that replaces a lost one or a current one. Sends the session's identity, the gap,
    /// the state that the client needs again, and all kept messages after `lastSeq`.
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

    /// Whether messages after this one are lost for good.
    package func hasLost(after lastSeq: UInt64) -> Bool { history.buffer.hasLost(after: lastSeq) }

    /// The upgrade's query names a session: no other request is accepted before ``resumeFailed(_:into:)``.
    package mutating func beginResuming() {
        if phase == .idle { phase = .resuming }
    }

    /// The failure of ``TranslationOrder/resume(_:)``, or of an upgrade whose query named a session that can't be
    /// resumed.
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

    /// Sends the client a ticket for its next upgrade, if its dialect has a message for it.
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
