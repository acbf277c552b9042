import Admission
import Observability
import Reactors
import RelayCore
import Telnet
import WireText

/// One session: a client whose dialect is known, and its connected target.
///
/// Whatever is true of the whole session is here, so it survives its client's WebSocket (`ClientLink`) and moves as one
/// object to the link of the client that resumes it, on the same loop or on another one: see `Session+Resume`.
final class Session: SessionStage {
    /// As its client knows it; nil where bytes pass unchanged.
    let id: String?
    /// The gate has refused this client its next ticket.
    var isTicketRefused = false
    var budget = TurnBudget()

    /// - Parameter newcomer: whose target is connected.
    init(_ newcomer: Newcomer, as id: String?) {
        self.id = id
        super.init(continuing: newcomer)
    }

    /// One that goes on from another process, without a client, from ``beginRestored()`` on.
    init(
        _ state: SessionState, of client: ClientIdentity, _ translation: Translation, settings: SessionSettings,
        sessions: SessionTable, loop: any SessionLoop
    ) {
        id = state.entry.id
        super.init(
            SessionStateMachine(state.machine, limits: settings.session, now: loop.now), of: client,
            sessions.gate.leaseForRestored(), openedAt: state.openedAt, settings: settings, sessions: sessions,
            loop: loop)
        self.translation = TranslationHolder(translation)
        dialCount = state.dialCount
        counters = state.counters
    }

    /// Its first words to both sides.
    ///
    /// - Parameter token: for a resume.
    func begin(as identity: SessionIdentity, _ token: SessionToken, telnet: TelnetClientSettings) {
        translate { $0.connected(identity, telnet: telnet, into: &$1) }
        openForResuming(as: identity.id, token)
        sendTicket()
        tellClient()
        // If only telnet commands waited, nothing is written to the client, so nothing else would report the queue.
        noteClientQueue()
    }

    private func openForResuming(as id: String, _ token: SessionToken) {
        guard let translation, translation.value.isResumable, let lease else { return }
        machine.setResumable()
        settings.directory.open(lease, as: id, token, of: client, heldBy: SessionHolder(self))
    }

    // MARK: The client

    override func tellClient() {
        guard !budget.isWaiting, translation != nil else { return }
        translatePending()
    }

    override func becameDetached() { detach() }

    // MARK: The target

    override func targetSent(_ bytes: UnsafeRawBufferPointer) {
        guard translation == nil else { return super.targetSent(bytes) }
        guard machine.acceptsFromTarget else { return }
        pace(bytes.count, steps: 1)
        guard let socket = link?.socket else { return }
        noteRelayed(bytes.count)
        socket.send(bytes)
        perform(machine.targetSent(queued: clientQueue, holdsMore: holdsMoreForClient, now: loop.now))
    }

    // MARK: Time

    override func timerFired(now: UInt64) {
        if machine.isUnderway {
            endPauses(now)
            if deadlines.takeKeepAlive(now) { keepTargetAlive(now) }
            if deadlines.takeTicket(now) { sendTicket() }
        }
        super.timerFired(now: now)
    }

    /// Only a target that negotiates gets something; one that doesn't may begin to.
    private func keepTargetAlive(_ now: UInt64) {
        guard translation != nil else { return }
        deadlines.sentToTarget(at: now, keepAlive: settings.dialects.keepAlive)
        translate { $0.keepAlive(into: &$1) }
    }

    // MARK: The end

    override func willEnd(_ reason: EndReason) { endTickets(reason) }
}
