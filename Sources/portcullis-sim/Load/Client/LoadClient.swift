import Reactors

/// One client, through all its connections and sessions. Reactor thread only.
///
/// ```
/// waiting ──▶ connecting ──▶ opening ──▶ open ──▶ closing ──▶ waiting
///    ▲            │ failed       │ ended    │ vanished or ended
///    └── away ◀───┴──────────────┴──────────┘
/// ```
/// `opening` is the typed dialect's: connected, and without a session yet. `stopped` is the last, from wherever it comes.
final class LoadClient {
    enum Stage {
        case waiting
        case connecting
        case opening
        case open
        case closing
        case away
        case stopped
    }

    let index: Int
    unowned let worker: LoadWorker
    var settings: LoadSettings { worker.settings }
    var stage = Stage.waiting
    /// When the heap's entry that counts comes up.
    var wakeAt: UInt64?

    var leg: ClientLeg?
    var stream: ClientStream
    var typed: TypedSession?
    var sessions: UInt64 = 0
    var plan: TrafficPlan
    var generator: SeededGenerator
    var intendedConnect: UInt64 = 0
    var hasBeenTried = false
    var returnAt: UInt64?
    var vanishAt: UInt64?
    /// When the answer to `connect` or `resume` is given up.
    var answerDueAt: UInt64?
    /// When the newest token was first sent without an answer: it is good for a while from then on.
    var tokenEndsAt: UInt64?
    /// Until when a `resume` that was left behind may still arrive.
    var overtakingEndsAt: UInt64?
    var readingChangesAt: UInt64?
    var isReadingPaused = false
    var message: [UInt8] = []

    /// Bytes that may wait in the client itself; what more is intended is late.
    static let maximumQueuedBytes = 262_144
    static let readNanoseconds: UInt64 = 50_000_000
    /// A token whose answer was lost is good for 30 s from its use on: most of it is left for coming back.
    static let unansweredNanoseconds: UInt64 = 3_000_000_000
    static let answerNanoseconds: UInt64 = 60_000_000_000
    static let overtakingNanoseconds: UInt64 = 30_000_000_000
    /// How soon a client vanishes that does so while its session is on its way, in seconds.
    static let earlyVanishingMean = 0.002

    init(index: Int, worker: LoadWorker) {
        self.index = index
        self.worker = worker
        let settings = worker.settings
        generator = SeededGenerator(seed: SeededGenerator.number(UInt64(index), seed: ~settings.seed))
        stream = ClientStream(sending: settings.pattern(client: index, session: 0), answer: settings.answer)
        typed = settings.dialect == .typed ? TypedSession(bufferBytes: settings.outputBufferBytes) : nil
        plan = TrafficPlan(.none, start: 0, seed: 0)
    }

    /// Everything that was sent has been answered.
    var isQuiet: Bool {
        stage == .stopped || stage == .open && stream.outstandingBytes == 0 || stage == .waiting && !hasTraffic
    }

    var hasTraffic: Bool { settings.traffic != .none }
}
