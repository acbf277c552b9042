import ArgumentParser
import Reactors

/// What the clients do.
enum Scenario: String, CaseIterable, Sendable, ExpressibleByArgument {
    /// Messages at a fixed rate.
    case echo
    /// As many as the gateway takes, with a window in flight.
    case flood
    /// Lines of 20 to 200 bytes up, with pauses.
    case mud
    /// Connected, and nothing else.
    case idle
    /// Connect, close, and again.
    case connect
    /// Vanish at random and come back.
    case flap
    /// A flood toward clients that hardly read.
    case slow
    /// Requests for challenges, one after the other.
    case challenge
}

/// What carries the clients' bytes.
enum LoadTransport: String, CaseIterable, Sendable, ExpressibleByArgument {
    /// By libwebsockets: each message in a record of its own.
    case websocket
    /// A WebSocket of the tool's own: the messages of a turn leave in one record.
    case frames
    /// TLS, or TCP where the URL says `http`, and nothing in it but the bytes.
    case stream
}

/// How the clients speak.
enum LoadDialect: String, CaseIterable, Sendable, ExpressibleByArgument {
    case raw
    case typed
}

/// Everything that a reactor's clients have to know.
struct LoadSettings: Sendable {
    var scenario: Scenario
    var dialect: LoadDialect
    var transport: LoadTransport
    var answer: ClientStream.Answer
    var edge: EdgeClientSettings
    var sources: SourceAddresses
    var clients: Int
    /// First connections a second, of all clients; nil: as many as are let.
    var connectRate: Double?
    /// Upgrades under way at once, of all clients.
    var maximumConnecting: Int
    /// Traffic before the measurement.
    var warmUpSeconds: Double
    var seconds: Double
    /// Messages a second and client, where there is a rate.
    var rate: Double
    var messageBytes: Int
    var window: Int
    /// The window is filled when it is empty, not at each answer.
    var isBurst: Bool
    var target: TypedRequest.Target
    /// Means, in seconds.
    var flapEvery: Double
    var flapAway: Double
    /// How long a slow reader reads nothing at a time.
    var readPause: Double
    /// The gateway's `OUTPUT_BUFFER_BYTES`, which says what may be gone.
    var outputBufferBytes: Int
    /// Sessions that end by another's will are no fault; what they hadn't brought yet is lost with them.
    var sessionsEnd: Bool
    var seed: UInt64

    var traffic: TrafficPlan.Kind {
        switch scenario {
        case .idle, .connect, .challenge: .none
        case .flood, .slow: .window(messages: window, bytes: messageBytes)
        case .mud: .typed(perSecond: rate)
        case .echo: answer == .numbered ? .none : .steady(perSecond: rate, bytes: messageBytes)
        case .flap: answer == .numbered ? .none : .typed(perSecond: rate)
        }
    }

    /// What the client with this number sends, in its `session`th session.
    func pattern(client: Int, session: UInt64) -> StreamPattern {
        let seed = SeededGenerator.number(UInt64(client) << 32 | session, seed: seed)
        if case .typed = traffic { return .typed(seed: seed) }
        return dialect == .raw ? .bytes(seed: seed) : .text(seed: seed)
    }
}
