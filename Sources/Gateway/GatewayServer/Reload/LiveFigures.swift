import Admission
import DPoP
import Relay
import Settings

/// What the settings say now, as far as state that outlives a reload reads it at each event: one immutable value.
struct LiveFigures: Sendable {
    private(set) var maximumSessions = 0
    /// Nil: no limit.
    private(set) var requestsPerSecond: Int? = 0
    private(set) var failedUpgradesPerMinute = 0
    private(set) var verificationsPerSecond = 0
    private(set) var challengesPerMinute = 0
    private(set) var registrationsPerMinute = 0
    private(set) var tokensPerMinute = 0
    private(set) var signUpsPerHour = 0

    private(set) var maximumConnections = 0
    private(set) var connectionsPerAddress = 0
    private(set) var handshakesPerSecond = 0
    private(set) var handshakesPerSecondPerAddress = 0
    /// Of all WebSockets together.
    private(set) var compressionBytes = 0
    /// Nil: no limit.
    private(set) var messagesPerSecondPerAddress: Int?
    private(set) var auditRefusalsPerMinute = 0

    private(set) var sessions = SessionLeaseLimits()
    private(set) var nextTicketLifetime: Duration?
    private(set) var relays = RelayLimits()
    let signing: SigningKeySchedule

    /// Nothing is allowed until the settings are known.
    ///
    /// - Parameter signing: when signing keys are replaced, and for how long they are kept.
    init(signing: SigningKeySchedule) { self.signing = signing }

    init(_ live: LiveConfiguration) {
        self.init(signing: TokenState.schedule(live.tokens))
        let (limits, connections) = (live.limits, live.connections)
        maximumSessions = live.session.maximumSessions ?? FileLimit.capacity
        requestsPerSecond = limits.requestsPerSecond
        failedUpgradesPerMinute = limits.failedUpgradesPerMinute
        verificationsPerSecond = limits.verificationsPerSecond
        challengesPerMinute = limits.challengesPerMinute
        registrationsPerMinute = limits.registrationsPerMinute
        tokensPerMinute = limits.tokensPerMinute
        signUpsPerHour = live.accounts.signUpsPerHour
        maximumConnections = connections.maximum ?? FileLimit.capacity
        connectionsPerAddress = connections.maximumPerAddress
        handshakesPerSecond = connections.handshakesPerSecond
        handshakesPerSecondPerAddress = connections.handshakesPerSecondPerAddress
        compressionBytes = live.compression.totalBytes
        messagesPerSecondPerAddress = live.traffic.messagesPerSecondPerAddress
        auditRefusalsPerMinute = live.logs.auditRefusalsPerMinute
        sessions = SessionLeaseLimits(live)
        nextTicketLifetime = live.nextTicketLifetime
        relays = RelayLimits(live)
    }
}

extension LiveConfiguration {
    /// A next ticket is renewed at half of it: so after the loss of its session it is valid for as long as a session
    /// waits for its client. Nil: none does.
    fileprivate var nextTicketLifetime: Duration? {
        self.resume.graceMinutes == 0 ? nil : .seconds(2 * 60 * self.resume.graceMinutes)
    }
}

extension SessionLeaseLimits {
    fileprivate init(_ live: LiveConfiguration) {
        let session = live.session
        self.init(
            perDevice: session.maximumPerDevice, perAddress: session.maximumPerAddress,
            grace: .seconds(live.resume.graceMinutes * 60))
    }
}

extension RelayLimits {
    fileprivate init(_ live: LiveConfiguration) {
        self.init()
        idleSeconds = live.session.gatewaySilenceSeconds
    }
}
