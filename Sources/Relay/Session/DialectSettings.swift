package import RelayCore
package import Telnet

/// What sessions speak with their clients and, in those clients' place, with their targets. Times in nanoseconds.
package struct DialectSettings: Sendable {
    /// `DEFAULT_DIALECT`
    package var standard = DefaultDialect.auto
    /// `DIALECT_WAIT_MS`
    package var wait = DialectChooser.defaultWait
    /// `MAX_MESSAGE_BYTES`
    package var maximumMessageBytes = Translation.defaultMaximumMessageBytes
    /// `CONNECT_WAIT_SECONDS`: a client that names its target itself must do so within this; then it is closed with 1008.
    package var connectWait: UInt64 = 60_000_000_000
    /// `OUTPUT_BUFFER_BYTES`; 0: no session can be resumed (`RESUME_GRACE_MINUTES` is 0).
    package var outputBufferBytes = Translation.defaultOutputBufferBytes
    /// `SESSION_EVENTS_GMCP`
    package var tellsTargetOfClient = false
    /// `DRAIN_RECONNECT_MS`; clients are told so much and at most twice as much.
    package var reconnectMilliseconds = 5_000
    /// `MUD_KEEPALIVE_SECONDS`; nil: never.
    package var keepAlive: UInt64?
    /// `TN_ENCODING`, `MXP_MODE` and the limits of telnet; what concerns one client is filled in for each session.
    package var telnet = TelnetClientSettings()

    package init() {}
}
