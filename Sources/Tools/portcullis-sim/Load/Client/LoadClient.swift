import Reactors

/// One client, through all its connections and sessions. Reactor thread only.
///
/// ```
/// waiting ──▶ connecting ──▶ opening ──▶ open ──▶ closing ──▶ waiting
///    ▲            │ failed       │ ended    │ vanished or ended
///    └── away ◀───┴──────────────┴──────────┘
/// ```
/// `opening` is used only by the typed dialect: connected, but without a session yet. `stopped` is final and can follow
/// any state.
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
    /// The time of this client's valid entry in the heap.
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
    /// The deadline for the answer to `connect` or `resume`.
    var answerDueAt: UInt64?
    /// The end of the validity of the newest token, which was sent and not answered.
    var tokenEndsAt: UInt64?
    /// The latest arrival of a `resume` on an abandoned connection.
    var overtakingEndsAt: UInt64?
    var readingChangesAt: UInt64?
    var isReadingPaused = false
    var message: [UInt8] = []

    /// The most bytes that may wait in the client itself; further messages are late.
    static let maximumQueuedBytes = 262_144
    static let readNanoseconds: UInt64 = 50_000_000
    /// A token whose answer was lost is valid for 30 s after its use: most of that time is left for coming back.
    static let unansweredNanoseconds: UInt64 = 3_000_000_000
    static let answerNanoseconds: UInt64 = 60_000_000_000
    static let overtakingNanoseconds: UInt64 = 30_000_000_000
    /// The mean time, in seconds, after which a client disconnects while its session is being set up.
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

    /// Everything sent has been answered.
    var isQuiet: Bool {
        stage == .stopped || stage == .open && stream.outstandingBytes == 0 || stage == .waiting && !hasTraffic
    }

    var hasTraffic: Bool { settings.traffic != .none }
}
