import CLibuv
import CLibwebsockets
import Glibc
package import Logging
import Synchronization

/// One thread, one libuv loop, one libwebsockets context.
///
/// A reactor owns every connection that it accepted or dialled. They are created, served and closed on its thread, so
/// their state needs no locks. Other threads have exactly one entry point, `submit(_:)`, which wakes the loop through
/// `uv_async_send`, the only libuv call that is safe from another thread.
///
/// In one turn of the loop libuv polls, the callbacks collect output in the buffers of the connections they touch, and
/// a `uv_check` handle writes each touched connection once. A `uv_prepare` handle does the same for connections that
/// timers and jobs touched before the poll. A burst therefore costs one write per connection, not one per message.
///
/// - Note: `@unchecked Sendable` because all mutable state except `jobs` is confined to the reactor's thread, which
///   `preconditionOnThread()` enforces at every entry; `jobs` is protected by a lock.
package final class Reactor: @unchecked Sendable {
    package typealias Job = @Sendable () -> Void

    package let index: Int
    package let logger: Logger
    /// libwebsockets' own timeout, a backstop behind the gateway's exact, named timeouts, none of which is longer.
    let backstopSeconds: UInt32

    /// Work handed over by other threads, in order.
    private let jobs = Mutex(JobQueue())
    private let threadID = Atomic<UInt>(0)

    // Everything below: reactor thread only.
    let loop: UnsafeMutablePointer<uv_loop_t>
    private let wake: UnsafeMutablePointer<uv_async_t>
    private let check: UnsafeMutablePointer<uv_check_t>
    private let prepare: UnsafeMutablePointer<uv_prepare_t>
    private(set) var context: OpaquePointer?
    /// Set while the reactor stops.
    private var eventPipe: EventPipe?
    /// Set while a vhost is being created: configures its SSL_CTX.
    var configureTLS: ((OpaquePointer) -> Void)?
    /// Whether libwebsockets has created a wsi since this was set to false: see `EdgeConnection.adopt`.
    var hasCreatedWSI = false
    let buffers = BufferPool()
    /// The buffer for every socket's reads. A callback consumes the data before it returns, so one buffer serves all
    /// connections.
    let readBuffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Reactor.readBufferBytes, alignment: 16)
    /// The number of the current turn of the loop.
    package private(set) var turn: UInt64 = 0
    @exclusivity(unchecked) private var touched: [any Flushable] = []
    @exclusivity(unchecked) private var flushing: [any Flushable] = []
    private var deferred: [WebSocketConnection] = []
    private var waitingHandshakes: [HandshakeQueue] = []
    /// WebSockets whose input waits for its turn.
    private(set) lazy var inputs = InputQueue(reactor: self)
    private(set) lazy var timers = TimerQueue(reactor: self)
    var edge: EdgeListener?
    /// For other gateways of the fleet.
    var fleetEdge: EdgeListener?

    /// The maximum size of one read from a target's socket.
    package static let readBufferBytes = 65_536

    private struct JobQueue {
        var pending: [Job] = []
        var isClosed = false
    }

    package init(index: Int, backstopSeconds: UInt32 = 300, logger: Logger) {
        self.backstopSeconds = backstopSeconds
        self.index = index
        self.logger = logger
        LookupThreads.prepared
        loop = .allocate(capacity: 1)
        wake = .allocate(capacity: 1)
        check = .allocate(capacity: 1)
        prepare = .allocate(capacity: 1)
        checkUV(uv_loop_init(loop), "uv_loop_init")
    }

    // MARK: Lifecycle

    /// Starts the thread and creates the libwebsockets context; returns when both are ready.
    ///
    /// The thread keeps the reactor alive until `stop()`.
    package func start() throws(ReactorError) {
        ignoreBrokenPipes()
        let ready = BlockingAnswer<Bool>()
        startThread { [self] in
            threadID.store(currentThreadID(), ordering: .releasing)
            startHandles()
            context = LWSContext.make(for: self)
            ready.set(context != nil)
            checkUV(min(uv_run(loop, UV_RUN_DEFAULT), 0), "uv_run")
            eventPipe?.release()
        }
        guard ready.wait() else { throw .contextFailed }
    }

    /// Asks the thread to end: open connections are dropped, and the loop runs until its handles are closed.
    package func stop() {
        submit { [self] in
            jobs.withLock { $0.isClosed = true }
            edge?.closeListening()
            fleetEdge?.closeListening()
            destroyContext()
            dropTCPConnections()
            timers.close()
            closeHandle(wake)
            closeHandle(check)
            closeHandle(prepare)
        }
    }

    private func destroyContext() {
        guard let context else { return }
        eventPipe = EventPipe(of: loop)
        LWSContext.destroy(context)
        eventPipe?.occupy()
        self.context = nil
    }

    private func startHandles() {
        let me = Unmanaged.passUnretained(self).toOpaque()
        wake.pointee.data = me
        check.pointee.data = me
        prepare.pointee.data = me
        checkUV(uv_async_init(loop, wake) { reactor(of: $0!).runJobs() }, "uv_async_init")
        checkUV(uv_check_init(loop, check), "uv_check_init")
        checkUV(uv_check_start(check) { reactor(of: $0!).endTurn() }, "uv_check_start")
        checkUV(uv_prepare_init(loop, prepare), "uv_prepare_init")
        checkUV(uv_prepare_start(prepare) { reactor(of: $0!).flushTouched() }, "uv_prepare_start")
    }

    // MARK: Threads

    /// Runs `job` on the reactor's thread, after those submitted before it. From any thread; dropped after `stop()`.
    package func submit(_ job: @escaping Job) {
        jobs.withLock { queue in
            guard !queue.isClosed else { return }
            queue.pending.append(job)
            // Inside the lock, because after `isClosed` the handle may be gone.
            if queue.pending.count == 1 { uv_async_send(wake) }
        }
    }

    /// Traps when called from any other thread than the reactor's own.
    package func preconditionOnThread() {
        precondition(
            threadID.load(ordering: .relaxed) == currentThreadID(), "reactor \(index) was used from a foreign thread")
    }

    private func runJobs() {
        let batch = jobs.withLock { queue in
            defer { queue.pending = [] }
            return queue.pending
        }
        for job in batch {
            job()
        }
        for connection in deferred {
            connection.isDeferred = false
            touch(connection)
        }
        deferred.removeAll(keepingCapacity: true)
    }

    // MARK: Time and flushing

    /// Nanoseconds of the monotonic clock.
    package var now: UInt64 { uv_hrtime() }

    /// The same clock, for code that doesn't run on a reactor.
    package static var monotonicNow: UInt64 { uv_hrtime() }

    /// Schedules `connection` to be flushed at the end of this turn.
    func touch(_ connection: any Flushable) {
        guard !connection.isTouched else { return }
        connection.isTouched = true
        touched.append(connection)
    }

    /// Schedules it for the next turn, which starts at once; other connections get their turn in between.
    func touchNextTurn(_ connection: WebSocketConnection) {
        guard !connection.isDeferred, context != nil else { return }
        connection.isDeferred = true
        deferred.append(connection)
        uv_async_send(wake)
    }

    /// Schedules `queue` to be served at the end of this turn, after the sessions' output.
    func serveAtEndOfTurn(_ queue: HandshakeQueue) {
        waitingHandshakes.append(queue)
    }

    private func serveHandshakes() {
        guard !waitingHandshakes.isEmpty else { return }
        let queues = waitingHandshakes
        waitingHandshakes = []
        for queue in queues { queue.serve() }
    }

    /// Makes the next turn start at once, whether or not there are other events.
    func wakeForNextTurn() {
        guard context != nil else { return }
        uv_async_send(wake)
    }

    private func endTurn() {
        flushTouched()
        if !inputs.isEmpty {
            inputs.serve()
            flushTouched()
        }
        serveHandshakes()
        turn &+= 1
        timers.fireOverdue()
    }

    /// The two arrays are swapped, so a turn in the steady state allocates nothing.
    private func flushTouched() {
        while !touched.isEmpty {
            swap(&touched, &flushing)
            for connection in flushing {
                connection.isTouched = false
                connection.flush()
            }
            flushing.removeAll(keepingCapacity: true)
        }
    }
}

/// An object that collects output during a turn of the loop and writes it once at the end.
protocol Flushable: AnyObject {
    var isTouched: Bool { get set }
    func flush()
}

package enum ReactorError: Error, Equatable {
    /// libwebsockets could not create a context; its log has the reason.
    case contextFailed
    /// libwebsockets could not create the vhost, usually because of the certificate or key; the text is the known
    /// reason.
    case vhostFailed(String)
    /// The address could not be bound; `reason` is the system error text.
    case bindFailed(address: String, reason: String)
    /// The process hasn't the right to listen on this port.
    case portNotPermitted(address: String)
}

private func reactor<Handle: UVHandle>(of handle: UnsafeMutablePointer<Handle>) -> Reactor {
    Unmanaged<Reactor>.fromOpaque(handle.pointee.data).takeUnretainedValue()
}
