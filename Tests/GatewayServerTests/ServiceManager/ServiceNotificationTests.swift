import EdgeTestKit
import Foundation
import Logging
import Synchronization
import Testing

@testable import GatewayServer

/// What is sent to NOTIFY_SOCKET, and to which sockets.
struct ServiceNotificationTests {
    private let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    @Test(
        arguments: [
            (.ready, "READY=1"), (.reloading(monotonicMicroseconds: 42), "RELOADING=1\nMONOTONIC_USEC=42"),
            (.stopping, "STOPPING=1"), (.status("Serving"), "STATUS=Serving"), (.watchdog, "WATCHDOG=1"),
            (.mainProcess(77), "MAINPID=77"),
        ] as [(ServiceNotification, String)])
    func `each notification is written as sd_notify(3) says`(notification: ServiceNotification, text: String) {
        #expect(notification.text == text)
    }

    @Test(
        arguments: [(nil, nil), ("", nil), ("/var/lib/a", "/var/lib/a"), ("/var/lib/a:/var/lib/b", "/var/lib/a")]
            as [(String?, String?)])
    func `what outlives the process is in the first folder of its state`(value: String?, folder: String?) {
        #expect(ServiceManager.stateDirectory(["STATE_DIRECTORY": value].compactMapValues(\.self)) == folder)
    }

    @Test func `a status stays one line`() {
        #expect(ServiceNotification.status("a\nREADY=1\u{7f}b\u{0}").text == "STATUS=a READY=1 b ")
    }

    @Test func `a status has at most 512 bytes, and ends with a whole character`() {
        let limit = ServiceNotification.maximumStatusBytes
        let fits = String(repeating: "x", count: limit - 2) + "é"
        #expect(ServiceNotification.status(fits).text == "STATUS=" + fits)
        #expect(ServiceNotification.status("x" + fits).text == "STATUS=x" + fits.dropLast())
    }

    @Test(arguments: [false, true])
    func `one datagram has all assignments of a call`(isAbstract: Bool) async throws {
        let directory = try TemporaryDirectory()
        let receiver = try NotificationReceiver(
            isAbstract ? "@portcullis-test-\(UUID())" : directory.file("notify"))
        let manager = ServiceManager(environment: ["NOTIFY_SOCKET": receiver.address], logger: logger)
        manager.tell(.ready, .status("Serving"))
        #expect(try await receiver.next("READY=1") == "READY=1\nSTATUS=Serving")
    }

    @Test func `a process that was replaced says so, and then nothing`() async throws {
        let receiver = try NotificationReceiver("@portcullis-test-\(UUID())")
        let environment = ["NOTIFY_SOCKET": receiver.address]
        let (manager, other) = (
            ServiceManager(environment: environment, logger: logger),
            ServiceManager(environment: environment, logger: logger)
        )
        manager.tell(.watchdog)
        manager.tellReplaced(by: 77)
        manager.tell(.watchdog)
        manager.tell(.ready, .status("Serving"))
        manager.tell(.stopping)
        other.tell(.status("the end"))
        let heard = try await receiver.messages.wait(for: "the end") { $0.last == "STATUS=the end" ? $0 : nil }
        #expect(heard == ["WATCHDOG=1", "MAINPID=77", "STATUS=the end"])
    }

    @Test func `a manager that can't be told of the new process is told of the old one`() async throws {
        let directory = try TemporaryDirectory()
        let address = directory.file("notify")
        let manager = ServiceManager(environment: ["NOTIFY_SOCKET": address], logger: logger)
        manager.tellReplaced(by: 77)
        let receiver = try NotificationReceiver(address)
        manager.tell(.watchdog)
        #expect(try await receiver.next("WATCHDOG=1") == "WATCHDOG=1")
    }

    /// The address of a Unix socket has 108 bytes: a path needs a NUL at its end, an abstract name one at its
    /// beginning.
    @Test(arguments: ["@", "/"])
    func `an address may have 107 bytes after or before its NUL`(start: String) {
        #expect(NotificationSocket(address: start + String(repeating: "x", count: start == "@" ? 107 : 106)) != nil)
        #expect(NotificationSocket(address: start + String(repeating: "x", count: start == "@" ? 108 : 107)) == nil)
    }

    @Test(arguments: ["", "@", "/", "notify", "vsock:2:1234", "/a\u{0}b"])
    func `other addresses are refused`(address: String) {
        #expect(NotificationSocket(address: address) == nil)
    }

    @Test func `a manager that has gone is logged once`() throws {
        let lines = Mutex(0)
        let logger = Logger(label: "test") { _ in CountingHandler { lines.withLock { $0 += 1 } } }
        let directory = try TemporaryDirectory()
        let manager = ServiceManager(environment: ["NOTIFY_SOCKET": directory.file("nobody")], logger: logger)
        for _ in 0..<3 { manager.tell(.watchdog) }
        #expect(lines.withLock { $0 } == 1)
    }

    @Test(
        arguments: [
            (["WATCHDOG_USEC": "30000000"], .seconds(15)),
            (["WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "7"], .seconds(15)),
            (["WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "8"], nil),
            (["WATCHDOG_USEC": "30000000", "WATCHDOG_PID": ""], nil),
            (["WATCHDOG_USEC": "2"], .microseconds(1)), (["WATCHDOG_USEC": "1"], nil), (["WATCHDOG_USEC": "0"], nil),
            (["WATCHDOG_USEC": "-4"], nil), (["WATCHDOG_USEC": "soon"], nil), ([:], nil),
        ] as [([String: String], Duration?)])
    func `the watchdog's interval is half of WATCHDOG_USEC, if that is for this process`(
        environment: [String: String], interval: Duration?
    ) {
        let environment = environment.merging(["NOTIFY_SOCKET": "@somebody"]) { $1 }
        #expect(
            ServiceManager(environment: environment, processID: 7, logger: logger).watchdogInterval == interval)
    }

    @Test func `a successor has the environment without WATCHDOG_PID`() {
        let environment = ["NOTIFY_SOCKET": "@a", "WATCHDOG_USEC": "4", "WATCHDOG_PID": "7"]
        let successor = ServiceManager.environment(ofSuccessor: environment)
        #expect(successor == ["NOTIFY_SOCKET": "@a", "WATCHDOG_USEC": "4"])
        #expect(ServiceManager(environment: successor, processID: 8, logger: logger).watchdogInterval != nil)
    }
}

private struct CountingHandler: LogHandler {
    var metadata: Logger.Metadata = [:]
    var logLevel: Logger.Level = .trace
    let count: @Sendable () -> Void

    init(_ count: @escaping @Sendable () -> Void) {
        self.count = count
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) { count() }
}
