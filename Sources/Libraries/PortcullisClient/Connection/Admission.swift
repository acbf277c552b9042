/// How a ``GatedConnection`` proves that it may come in.
public enum Admission: Sendable {
    /// With an assertion for each connection. Registers if needed.
    case assertion
    /// With an access token and a proof. Gets a token if needed.
    case accessToken
    /// With the access token of a player who has signed in: ``GateClient/accounts``. Without one it fails with
    /// ``GateError/signInRequired``.
    case account
    /// With the certificate that the transport presents, in debug builds.
    case clientCertificate
    /// With a ticket, once. Later the session's own token resumes it.
    case ticket(String)
    /// With nothing, or with the shared secret of the configuration.
    case none
}

extension Admission: CustomStringConvertible, CustomReflectable {
    /// Without the ticket.
    public var description: String {
        switch self {
        case .assertion: "assertion"
        case .accessToken: "accessToken"
        case .account: "account"
        case .clientCertificate: "clientCertificate"
        case .ticket: "ticket"
        case .none: "none"
        }
    }

    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}

/// What a ``GatedConnection`` asks for.
public struct ConnectionOptions: Sendable {
    public var admission: Admission
    public var dialect: SessionDialect
    /// A named route of the gateway; nil: its default.
    public var route: String?
    /// Of the terminal.
    public var size: TerminalSize?
    /// What the service is told about the client: at most 64 bytes of printable ASCII.
    public var clientName: String?
    public var terminalType: String?

    public init(
        _ admission: Admission = .accessToken, dialect: SessionDialect = .typed, route: String? = nil,
        size: TerminalSize? = nil
    ) {
        (self.admission, self.dialect, self.route, self.size) = (admission, dialect, route, size)
    }
}

public struct TerminalSize: Sendable, Equatable {
    public let columns, rows: Int

    /// - Returns: nil if a number isn't from 1 to 65,535.
    public init?(columns: Int, rows: Int) {
        guard (1...65_535).contains(columns), (1...65_535).contains(rows) else { return nil }
        (self.columns, self.rows) = (columns, rows)
    }
}

/// The messages of a session.
public enum SessionDialect: String, Sendable, CaseIterable {
    /// JSON in each message. Inputs are numbered and confirmed one by one.
    case typed
    /// Text in binary messages, GMCP in text messages.
    case gmcp
    /// Text in binary messages, out-of-band data as JSON.
    case json
    /// The service's own telnet bytes. It can't be resumed.
    case raw

    var isResumable: Bool { self != .raw }
}

/// How a ``GatedConnection`` comes back after its connection was lost.
public struct ReconnectPolicy: Sendable {
    /// Seconds before the second attempt, with jitter; doubled for each further one. The first attempt is made at once.
    public var firstDelay = 0.5
    public var longestDelay = 30.0
    /// A lost session is given up after this many seconds: the gateway's own grace period is 45 minutes by default.
    public var giveUpAfter = 2_700.0
    /// A connection that never succeeded is given up after this many seconds. An attempt over which the gateway names
    /// no session is, too, but not before ``ClientLimits/upgrade``.
    public var firstConnectionWithin = 60.0
    /// Reconnections at once, and in a second after that, for connections that are lost again and again.
    public var burst = 20.0
    public var perSecond = 1.0
    /// Without a message for this many seconds the connection is probed with a ping.
    public var probeAfter = 20.0
    /// … which has to be answered within this many seconds.
    public var probeWithin = 10.0

    public init() {}

    static let longestHint = 60.0

    /// - Parameter attempt: from 1.
    func delay(attempt: Int, hint: Double?, random: Double) -> Double {
        if attempt <= 1 { return max(hint ?? 0, 0.1 * random) }
        return Backoff(first: firstDelay, longest: longestDelay).delay(
            attempt: attempt - 1, retryAfter: hint, random: random)
    }
}
