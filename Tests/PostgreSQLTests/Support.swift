import Foundation
import PostgreSQL
import PostgreSQLTestKit
import Synchronization
import Testing

extension DriverOptions {
    /// For tests that aren't about waiting.
    static func patient(_ parameters: [String: String]) -> DriverOptions {
        var options = DriverOptions(parameters: parameters)
        options.statementMilliseconds = 60_000
        options.longestMilliseconds = 60_000
        return options
    }

    /// For tests in which the server doesn't answer.
    static func impatient(_ parameters: [String: String]) -> DriverOptions {
        var options = DriverOptions(parameters: parameters)
        options.statementMilliseconds = 300
        options.graceMilliseconds = 300
        options.parameters["connect_timeout"] = "2"
        options.heartbeatMilliseconds = 200
        return options
    }
}

extension SQLStatement {
    static let one = SQLStatement("one", "SELECT 1::int8")
    static let process = SQLStatement("process", "SELECT pg_backend_pid()::int8")
}

/// Tries until `body` returns a value; a patient test fails in the end.
func eventually<Value>(
    sourceLocation: SourceLocation = #_sourceLocation, _ body: () async throws -> Value?
) async throws -> Value {
    let end = ContinuousClock.now + .seconds(60)
    while true {
        if let value = try? await body() { return value }
        try #require(ContinuousClock.now < end, "It never happened.", sourceLocation: sourceLocation)
        try await Task.sleep(for: .milliseconds(10))
    }
}

/// Answers that arrive on another thread.
final class Answers: Sendable {
    private let results = Mutex<[Result<SQLRows, DatabaseError>]>([])

    func take(_ result: Result<SQLRows, DatabaseError>) { results.withLock { $0.append(result) } }
    var all: [Result<SQLRows, DatabaseError>] { results.withLock { $0 } }

    func wait(_ count: Int) async throws -> [Result<SQLRows, DatabaseError>] {
        try await eventually { all.count >= count ? all : nil }
    }
}

final class Events: Sendable {
    private let events = Mutex<[DriverEvent]>([])

    func take(_ event: DriverEvent) { events.withLock { $0.append(event) } }
    var all: [DriverEvent] { events.withLock { $0 } }
}

func onThread(_ body: @escaping @Sendable () -> Void) { Thread.detachNewThread(body) }
