/// How a driver connects, and its limits.
package struct DriverOptions: Sendable {
    /// libpq's connection parameters, such as `host` and `password`. What is needed beside them is added
    /// (``LibpqConnection``).
    package var parameters: [String: String]
    /// Half of them, at least one, are for durable statements.
    package var connections = 4
    /// Statements that were handed over and aren't answered yet. Further ones are refused with
    /// ``DatabaseError/queueFull``.
    package var maximumStatements = 4_096
    /// Statements on their way on one connection.
    package var pipelineDepth = 64
    /// When a statement is answered with an error if the server hasn't answered it, unless its caller has another
    /// limit.
    package var statementMilliseconds = 2_000
    /// The longest limit that a caller may have, and the server's `statement_timeout`.
    package var longestMilliseconds = 10_000
    /// How long a tool's statement waits for a lock of another session's (`lock_timeout`). A driver's waits for
    /// ``statementMilliseconds``.
    package var lockMilliseconds = 5_000
    /// A connection whose oldest statement is late by so much more is replaced.
    package var graceMilliseconds = 1_000
    /// For each host and address. libpq counts whole seconds, at least two.
    package var connectSeconds = 3
    /// A connection that was silent for so long is tested; at once if another one is lost.
    package var heartbeatMilliseconds = 10_000
    /// Notifications of this channel are reported (`LISTEN`).
    package var channel: String?
    /// The largest answer, in bytes.
    package var maximumAnswerBytes = 16 << 20

    package init(parameters: [String: String]) { self.parameters = parameters }
}

/// What a driver reports beside its answers, on its own thread.
package enum DriverEvent: Hashable, Sendable {
    /// A connection is up, after none was.
    case reachable
    /// No connection is up, and none could be made. Reported once, until ``reachable``.
    case unreachable(String)
    /// A notification arrived, or the connection that listens was made again: some may have been lost before.
    case notified
}

/// A driver's state for metrics.
package struct DriverFigures: Hashable, Sendable {
    package var connections = 0
    package var statements = 0
    /// Statements are refused without being sent.
    package var isOpen = false
}
