import ArgumentParser
import Reactors

/// The clients' behaviour.
enum Scenario: String, CaseIterable, Sendable, ExpressibleByArgument {
    /// Messages at a fixed rate.
    case echo
    /// As many messages as the gateway accepts, with a window in flight.
    case flood
    /// Lines of 20 to 200 bytes to the gateway, with pauses.
    case mud
    /// Connected and idle.
    case idle
    /// Connect, close, repeat.
    case connect
    /// Drop the connection at random and come back.
    case flap
    /// A flood toward clients that read very little.
    case slow
    /// Requests for challenges, one after another.
    case challenge
    /// Requests for access tokens, one after another: challenge, assertion, token.
    case token
    /// Requests to `/authz` with a token and a new proof, one after another.
    case proof
    /// Requests to `/authz` that the device has signed, one after another. Each answer has the next challenge.
    case signed
    /// Sign-ins of players with a passkey, one after another: options, the passkey's signature, a proof, a token.
    case passkey
    /// Refreshes of players who have signed in before, one after another: a refresh token, a proof, the next pair.
    case refresh

    var usesWebSockets: Bool { ![.challenge, .token, .proof, .signed, .passkey, .refresh].contains(self) }
}

/// The transport of the clients' bytes.
enum LoadTransport: String, CaseIterable, Sendable, ExpressibleByArgument {
    /// By libwebsockets: each message in its own record.
    case websocket
    /// The tool's own WebSocket: all messages of a turn are sent in one record.
    case frames
    /// TLS, or TCP if the URL says `http`, with the bytes alone.
    case stream
}

/// The clients' dialect.
enum LoadDialect: String, CaseIterable, Sendable, ExpressibleByArgument {
    case raw
    case typed
}

/// The settings for a reactor's clients.
struct LoadSettings: Sendable {
    var scenario: Scenario
    var dialect: LoadDialect
    var transport: LoadTransport
    var answer: ClientStream.Answer
    var edge: EdgeClientSettings
    var sources: SourceAddresses
    var clients: Int
    /// First connections per second, of all clients; nil: as fast as possible.
    var connectRate: Double?
    /// Upgrades under way at once, of all clients.
    var maximumConnecting: Int
    /// Seconds of traffic before the measurement.
    var warmUpSeconds: Double
    var seconds: Double
    /// Messages per second and client, in scenarios with a rate.
    var rate: Double
    var messageBytes: Int
    var window: Int
    /// The window is refilled when it is empty, not after each answer.
    var isBurst: Bool
    var target: TypedRequest.Target
    /// Mean values, in seconds.
    var flapEvery: Double
    var flapAway: Double
    /// The length of a slow reader's pauses.
    var readPause: Double
    /// The gateway's `OUTPUT_BUFFER_BYTES`, which determines how much may be lost.
    var outputBufferBytes: Int
    /// Sessions that others end don't count as errors; data that they hadn't delivered is lost with them.
    var sessionsEnd: Bool
    /// Clients with devices connect by access tokens, not by assertions.
    var usesTokens: Bool
    /// The internal listener, for the scenarios `proof` and `signed`.
    var authorizer: EdgeClientSettings?
    /// In the scenario `signed`: 1: over the body, which is sent; 2: over its digest, without it.
    var recipe = 2
    var seed: UInt64

    var traffic: TrafficPlan.Kind {
        switch scenario {
        case .idle, .connect, .challenge, .token, .proof, .signed, .passkey, .refresh: .none
        case .flood, .slow: .window(messages: window, bytes: messageBytes)
        case .mud: .typed(perSecond: rate)
        case .echo: answer == .numbered ? .none : .steady(perSecond: rate, bytes: messageBytes)
        case .flap: answer == .numbered ? .none : .typed(perSecond: rate)
        }
    }

    /// The output of the client with this number in its `session`th session.
    func pattern(client: Int, session: UInt64) -> StreamPattern {
        let seed = SeededGenerator.number(UInt64(client) << 32 | session, seed: seed)
        if case .typed = traffic { return .typed(seed: seed) }
        return dialect == .raw ? .bytes(seed: seed) : .text(seed: seed)
    }
}

/// Local addresses in 127.0.0.0/8, all of which belong to Linux's loopback device: for a gateway that counts by
/// address.
struct SourceAddresses: Hashable, Sendable {
    /// 127.0.0.1 is left free for observers.
    static let maximumCount = 65_000

    let count: Int
    /// The number of the first address, from 0.
    var first = 0

    /// - Returns: nil if the system chooses the address.
    func address(of client: Int) -> String? {
        guard count > 0 else { return nil }
        let number = first + client % count + 2
        return "127.0.\(number >> 8).\(number & 255)"
    }
}
