import EdgeTestKit
import Foundation
import Logging
import Reactors
import Testing

@testable import GatewayServer

/// The watchdog with real reactors and a real socket.
struct ReactorWatchdogTests {
    private let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    /// Many turns of the healthy reactor pass while the other one hangs. Then it says so itself, as the last thing
    /// before it goes on.
    @Test(arguments: [0, 1])
    func `a reactor that hangs withholds the notification`(hanging: Int) async throws {
        let reactors = (0..<2).map { Reactor(index: $0, logger: logger) }
        for reactor in reactors { try reactor.start() }
        let receiver = try NotificationReceiver("@portcullis-test-\(UUID())")
        let manager = ServiceManager(environment: ["NOTIFY_SOCKET": receiver.address], logger: logger)
        let release = DispatchSemaphore(value: 0)
        reactors[hanging].submit {
            release.wait()
            manager.tell(.status("goes on"))
        }
        let watchdog = ReactorWatchdog(reactors: reactors, interval: .milliseconds(1)) { manager.tell(.watchdog) }
        let running = Task { await watchdog.run() }
        for _ in 0..<500 {
            await withCheckedContinuation { next in reactors[1 - hanging].submit { next.resume() } }
        }
        release.signal()
        _ = try await receiver.messages.wait(for: "a sign of life") { $0.contains("WATCHDOG=1") ? true : nil }
        #expect(receiver.messages.current.first == "STATUS=goes on")
        running.cancel()
        await running.value
        for reactor in reactors { reactor.stop() }
    }
}
