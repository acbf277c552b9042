import Admission
import Reactors

@testable import Relay

let second: UInt64 = 1_000_000_000
let millisecond: UInt64 = 1_000_000

/// The loops of one test, their common clock, and the connections on them. All of it runs on the test's own thread:
/// `current` says whose turn it is, and every call to a loop or a connection checks that.
final class TestNetwork {
    /// Not zero at the start: nothing may depend on the clock's epoch.
    private(set) var now: UInt64 = 1_000 * second
    fileprivate(set) var current: TestLoop?
    fileprivate(set) var loops: [TestLoop] = []
    /// Answers dials: nil leaves the target connecting.
    var answer: TargetAnswer = .connects
    private(set) var targets: [MemoryTarget] = []
    fileprivate var clients: [MemorySocket] = []

    enum TargetAnswer {
        case connects
        case hangs
        case fails(TCPError)
    }

    func makeLoop() -> TestLoop {
        let loop = TestLoop(of: self)
        loops.append(loop)
        return loop
    }

    /// Runs `body` as a callback of `loop`.
    @discardableResult
    func run<Result>(on loop: TestLoop, _ body: () throws -> Result) rethrows -> Result {
        let before = current
        current = loop
        defer { current = before }
        return try body()
    }

    func add(_ client: MemorySocket) { clients.append(client) }
    fileprivate func add(_ target: MemoryTarget) { targets.append(target) }

    /// Runs the loops until none has anything left to do at this time.
    func settle() {
        for _ in 0..<10_000 {
            var isBusy = false
            for loop in loops { isBusy = loop.turnOnce() || isBusy }
            for target in targets { isBusy = target.deliver() || isBusy }
            for client in clients { isBusy = client.deliver() || isBusy }
            if !isBusy { return }
        }
        preconditionFailure("the loops never come to rest")
    }

    func turn(of loop: TestLoop) { _ = loop.turnOnce() }

    /// Lets time pass: every timer fires when it is due.
    func wait(_ nanoseconds: UInt64) {
        let end = now + nanoseconds
        settle()
        while let next = loops.compactMap(\.nextDeadline).min(), next <= end {
            now = max(now, next)
            settle()
        }
        now = end
        settle()
    }
}

/// A loop in memory.
///
/// - Note: `@unchecked Sendable` because a test uses it on one thread.
final class TestLoop: SessionLoop, @unchecked Sendable {
    fileprivate unowned let network: TestNetwork
    private var jobs: [@Sendable () -> Void] = []
    private var timers: [TestTimer] = []
    private(set) var turn: UInt64 = 0

    fileprivate init(of network: TestNetwork) { self.network = network }

    var isCurrent: Bool { network.current === self }

    var now: UInt64 { network.now }
    var moment: Moment { Moment(monotonic: MonotonicTime(nanoseconds: now), unixMilliseconds: 1_700_000_000_000) }

    func makeTimer() -> any SessionTimer {
        let timer = TestTimer(on: self)
        timers.append(timer)
        return timer
    }

    func submit(_ job: @escaping @Sendable () -> Void) { jobs.append(job) }

    func preconditionOnThread() { precondition(isCurrent, "a loop was used from another loop") }

    func dial(
        host: String, port: UInt16, options: DialOptions, tls: TargetTLS?, handler: any TCPHandler
    ) -> any TargetSocket {
        preconditionOnThread()
        let target = MemoryTarget(host: host, port: port, on: self, handler: handler)
        network.add(target)
        switch network.answer {
        case .connects: submit { [bound = LoopBound(target, to: self)] in bound.value.connect() }
        case .hangs: break
        case .fails(let error): submit { [bound = LoopBound(target, to: self)] in bound.value.fail(error) }
        }
        return target
    }

    func adopt(_ target: any DepartedTarget, handler: any TCPHandler) -> any TargetSocket {
        preconditionOnThread()
        guard let departed = target as? DepartedMemoryTarget else { preconditionFailure("not a target of these loops") }
        departed.target.arrive(on: self, handler: handler)
        return departed.target
    }

    // MARK: For the network

    var nextDeadline: UInt64? { timers.compactMap(\.deadline).min() }

    /// - Returns: whether anything was done.
    fileprivate func turnOnce() -> Bool {
        turn += 1
        return network.run(on: self) {
            let batch = jobs
            jobs = []
            for job in batch { job() }
            var isBusy = !batch.isEmpty
            for timer in timers { isBusy = timer.fireIfDue(now) || isBusy }
            return isBusy
        }
    }

    var armedTimerCount: Int { timers.count { $0.deadline != nil } }
}

final class TestTimer: SessionTimer {
    private unowned let loop: TestLoop
    private(set) var deadline: UInt64?
    private var target: (any TimerTarget)?

    fileprivate init(on loop: TestLoop) { self.loop = loop }

    func arm(at deadline: UInt64, calling target: any TimerTarget) {
        loop.preconditionOnThread()
        precondition(self.target.map { $0 === target } ?? true, "an armed timer was given another target")
        self.deadline = deadline
        self.target = target
    }

    func cancel() {
        loop.preconditionOnThread()
        deadline = nil
        target = nil
    }

    fileprivate func fireIfDue(_ now: UInt64) -> Bool {
        guard let deadline, let target, now >= deadline else { return false }
        self.deadline = nil
        self.target = nil
        target.timerFired(now: now)
        return true
    }
}

extension TestLoop {
    /// Calls the gateway on the loop's thread, as libwebsockets and libuv do. Calls may be nested.
    func inCallback(_ body: () -> Void) { network.run(on: self, body) }
}
