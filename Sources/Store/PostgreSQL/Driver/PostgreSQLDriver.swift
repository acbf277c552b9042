import Foundation

/// Runs statements on a PostgreSQL server without blocking any thread but its own.
///
/// The thread "postgresql" drives a few connections, each as a pipeline: a statement is its own transaction, and the
/// next one is sent without waiting for its answer. A connection is made by a thread of its own, which ends with it,
/// since the resolver blocks. Every statement is answered once and in time, whatever the server does.
package final class PostgreSQLDriver: Sendable {
    private let options: DriverOptions
    private let mailbox = Mailbox()

    /// - Parameter report: called on the driver's thread; it must not wait.
    package init(_ options: DriverOptions, report: @escaping @Sendable (DriverEvent) -> Void = { _ in }) {
        self.options = options
        Thread.detachNewThread { [mailbox] in
            Thread.current.name = "postgresql"
            // The thread's own: the driver isn't retained.
            DriverLoop(options, mailbox, dial: { Self.dial($0, options, mailbox) }, report: report).run()
        }
    }

    deinit { mailbox.close() }

    private static func dial(_ lane: Int, _ options: DriverOptions, _ mailbox: Mailbox) {
        Thread.detachNewThread {
            Thread.current.name = "postgresql-dial"
            mailbox.add(LibpqConnection.connect(options.connectionParameters), lane: lane)
        }
    }

    /// Hands a statement over.
    ///
    /// - Parameters:
    ///   - milliseconds: its limit; nil for the driver's.
    ///   - answer: called once, on the driver's thread, where it must not wait; or before this returns if the statement
    ///     is refused at once.
    package func run(
        _ statement: SQLStatement, _ values: [SQLValue] = [], within milliseconds: Int? = nil,
        then answer: @escaping @Sendable (Result<SQLRows, DatabaseError>) -> Void
    ) {
        let limit = min(milliseconds ?? options.statementMilliseconds, options.longestMilliseconds)
        let call = Call(
            statement, values, deadline: Monotonic.now + Monotonic.nanoseconds(milliseconds: limit), answer)
        switch mailbox.add(call, maximum: options.maximumStatements) {
        case nil: break
        case .full: call.finish(.failure(.queueFull))
        case .closed: call.finish(.failure(.unreachable("the program ends", retryAfterSeconds: 1)))
        }
    }

    package func run(
        _ statement: SQLStatement, _ values: [SQLValue] = [], within milliseconds: Int? = nil
    ) async throws(DatabaseError) -> SQLRows {
        let result: Result<SQLRows, DatabaseError> = await withCheckedContinuation { continuation in
            run(statement, values, within: milliseconds) { continuation.resume(returning: $0) }
        }
        return try result.get()
    }

    /// For threads that may block: never on a reactor, on the driver's thread or in Swift's pool.
    package func runBlocking(
        _ statement: SQLStatement, _ values: [SQLValue] = [], within milliseconds: Int? = nil
    ) throws(DatabaseError) -> SQLRows {
        let box = AnswerBox()
        run(statement, values, within: milliseconds) { box.put($0) }
        return try box.wait().get()
    }

    package var figures: DriverFigures { mailbox.figures }

    /// ``DriverOptions/statementMilliseconds``
    package var statementMilliseconds: Int { options.statementMilliseconds }

    /// Answers what is under way, and ends the connections.
    package func close() { mailbox.close() }
}

/// The answer of one statement, for the thread that waits for it.
private final class AnswerBox: @unchecked Sendable {
    private let arrived = DispatchSemaphore(value: 0)
    /// Written once, before the signal.
    private var answer: Result<SQLRows, DatabaseError>?

    func put(_ answer: Result<SQLRows, DatabaseError>) {
        self.answer = answer
        arrived.signal()
    }

    func wait() -> Result<SQLRows, DatabaseError> {
        arrived.wait()
        return answer ?? .failure(.malformed)
    }
}

extension DriverOptions {
    /// With what is needed for a prompt end of dead connections, and without what costs a round trip.
    package var connectionParameters: [String: String] {
        let patience = statementMilliseconds + graceMilliseconds
        let defaults = [
            "fallback_application_name": "portcullis", "client_encoding": "UTF8", "gssencmode": "disable",
            "target_session_attrs": "read-write", "connect_timeout": String(max(2, connectSeconds)),
            "tcp_user_timeout": String(patience), "keepalives_idle": "5", "keepalives_interval": "2",
            "keepalives_count": "3",
        ]
        return parameters.merging(defaults) { own, _ in own }
    }
}
