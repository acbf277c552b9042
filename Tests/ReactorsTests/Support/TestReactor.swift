import Logging
import Testing

@testable import Reactors

/// One reactor for all tests of this process: it outlives them, and each test keeps to connections of its own.
enum TestReactor {
    static let shared = started()
    /// For what goes from one to another.
    static let second = started()

    /// One more, for a test that stops it.
    static func started(backstopSeconds: UInt32 = 300) -> Reactor {
        let reactor = Reactor(
            index: 0, backstopSeconds: backstopSeconds,
            logger: Logger(label: "reactors-tests") { _ in SwiftLogNoOpLogHandler() })
        do {
            try reactor.start()
        } catch {
            fatalError("\(error)")
        }
        return reactor
    }
}

extension Reactor {
    /// Runs `body` on the reactor's thread and hands its result back.
    func run<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
        await withCheckedContinuation { continuation in
            submit { continuation.resume(returning: body()) }
        }
    }
}
