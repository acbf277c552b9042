import Logging
import Testing

@testable import Reactors

/// One reactor for all tests of this process. It outlives them, and each test uses only its own connections.
enum TestReactor {
    static let shared = started()
    /// A second one, for connections that move between reactors.
    static let second = started()

    /// Starts another reactor, for a test that stops it.
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
    /// Runs `body` on the reactor's thread and returns its result.
    func run<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
        await withCheckedContinuation { continuation in
            submit { continuation.resume(returning: body()) }
        }
    }
}
