/// How long the library waits, and how much it reads. The defaults suit every app.
public struct ClientLimits: Sendable {
    /// Seconds for each of Apple's calls.
    public var appleCall = 30.0
    /// Seconds for a request to the gate, its answer included.
    public var gateRequest = 20.0
    /// Seconds for a request to a service behind the gate.
    public var serviceRequest = 60.0
    /// Seconds for an upgrade, until the 101.
    public var upgrade = 20.0
    /// The longest body that is read from a service behind the gate.
    public var serviceBodyBytes = 8 << 20
    /// The longest message of a session.
    public var messageBytes = 1 << 20
    /// Events of a session that wait for the app, at most. Beyond that the connection isn't read.
    public var queuedEvents = 256
    /// … and their bytes.
    public var queuedEventBytes = 1 << 20
    /// Inputs of a session that aren't confirmed, at most.
    public var unconfirmedInputs = 256
    /// … and their bytes.
    public var unconfirmedInputBytes = 256 << 10

    /// The longest body that is read from the gate itself: its answers have some hundred bytes.
    static let gateBodyBytes = 64 << 10

    public init() {}
}
