import Reactors

/// One reactor with its share of the clients: schedules their connections and wake-ups, and holds their counts. Reactor
/// thread only.
///
/// It lives as long as the process, as its reactor does.
final class LoadWorker {
    let reactor: Reactor
    let settings: LoadSettings
    let edge: EdgeClient
    let devices: LoadDevices?
    /// Nil if the run uses only WebSockets.
    let requests: GatewayRequests?
    /// Requests to the gateway's internal listener.
    let authorizer: GatewayRequests?
    /// For clients with the stream transport; nil for TCP.
    let streamTLS: TargetTLS?
    var statistics = LoadStatistics()
    private(set) var measurement = MeasurementStart()
    /// Clients send, disconnect and return.
    private(set) var isTrafficOn = false

    private let threads: Int
    private(set) var clients: [LoadClient] = []
    private var deadlines = DeadlineHeap<LoadClient>()
    private lazy var timer = PreciseTimer(on: reactor) { [unowned self] in fired($0) }
    private var armed: UInt64?
    private var paced = FIFO<LoadClient>()
    private var unpaced = FIFO<LoadClient>()
    private var nextConnect: UInt64 = 0
    private var connecting = 0
    private var silent = FIFO<(leg: ClientLeg, until: UInt64)>()
    private let replaced = ReplacedLegs()
    private var scratch = UnsafeMutableRawBufferPointer.allocate(byteCount: 65_536, alignment: 16)

    /// How long the socket of a silent client is kept open.
    private static let silenceNanoseconds: UInt64 = 20_000_000_000

    /// - Parameters:
    ///   - thread: this worker has the clients whose number modulo `threads` equals this.
    ///   - devices: nil if clients don't connect by assertion.
    init(
        on reactor: Reactor, settings: LoadSettings, thread: Int, of threads: Int, requests: GatewayRequests?,
        authorizer: GatewayRequests?, devices: LoadDevices?
    ) throws {
        self.reactor = reactor
        self.settings = settings
        self.threads = threads
        self.requests = requests
        self.authorizer = authorizer
        self.devices = devices
        streamTLS =
            settings.transport != .websocket && settings.edge.isTLS
            ? try TargetTLS(TargetTLSSettings(mode: .required, caPath: settings.edge.caPath)) : nil
        edge = try EdgeClient(on: reactor, settings: settings.edge)
        clients = stride(from: thread, to: settings.clients, by: threads).map { LoadClient(index: $0, worker: self) }
    }

    // MARK: The run's phases

    func connectAll() {
        if settings.scenario == .connect { isTrafficOn = true }
        nextConnect = reactor.now
        for client in clients { enqueue(client, paced: true) }
    }

    func startTraffic(at start: UInt64) {
        isTrafficOn = true
        for client in clients where settings.scenario != .connect { client.startTraffic(at: start) }
    }

    func startMeasuring() {
        measurement.begin(at: reactor.now)
    }

    /// Data already sent may still be answered.
    func stopTraffic() {
        isTrafficOn = false
        paced = FIFO()
        for client in clients { client.stop() }
    }

    func finish() {
        for client in clients { client.finish() }
        while let silent = silent.popFirst() { silent.leg.transport?.drop() }
        replaced.finish(at: reactor.now)
    }

    var snapshot: LoadStatistics {
        var snapshot = statistics
        snapshot.clientsQuiet = clients.count { $0.isQuiet }
        snapshot.takenOver = replaced.told
        if replaced.untold > 0 { snapshot.errors.count(.takeoverUntold, replaced.untold) }
        return snapshot
    }

    // MARK: Connecting

    /// - Parameter paced: at the connect rate; returning clients connect as soon as there is room.
    func enqueue(_ client: LoadClient, paced isPaced: Bool) {
        if isPaced, interval > 0 {
            // A pause gives no credit for a burst.
            if paced.first == nil { nextConnect = max(nextConnect, reactor.now) }
            paced.append(client)
        } else {
            unpaced.append(client)
        }
        serveConnects()
    }

    func connectEnded() {
        connecting -= 1
        serveConnects()
    }

    private var interval: UInt64 { settings.connectRate.map { UInt64(1e9 * Double(threads) / $0) } ?? 0 }

    private func serveConnects() {
        let now = reactor.now
        while connecting < max(settings.maximumConnecting / threads, 1) {
            if let client = unpaced.popFirst() {
                connecting += 1
                client.connect(intended: now)
            } else if nextConnect <= now, let client = paced.popFirst() {
                connecting += 1
                let intended = nextConnect
                nextConnect += interval
                client.connect(intended: intended)
            } else {
                break
            }
        }
        arm()
    }

    // MARK: Time

    func wake(_ client: LoadClient, at time: UInt64) {
        if let already = client.wakeAt, already <= time { return }
        client.wakeAt = time
        deadlines.insert(client, at: time)
        arm()
    }

    private func fired(_ now: UInt64) {
        armed = nil
        while let (time, client) = deadlines.take(by: now) {
            guard client.wakeAt == time else { continue }
            client.wakeAt = nil
            client.wake(now: now)
        }
        while let first = silent.first, first.until <= now {
            silent.removeFirst()
            first.leg.transport?.drop()
        }
        serveConnects()
    }

    private func arm() {
        let canConnect = paced.first != nil && connecting < max(settings.maximumConnecting / threads, 1)
        guard let next = [deadlines.first, canConnect ? nextConnect : nil].compactMap({ $0 }).min(),
            armed == nil || next < armed!
        else { return }
        armed = next
        timer.arm(at: next)
    }

    /// Keeps an unread connection open for a while.
    func keepSilent(_ leg: ClientLeg) {
        silent.append((leg, reactor.now + Self.silenceNanoseconds))
    }

    /// Keeps a connection until the gateway reports that its session moved to another one.
    func awaitReplacement(of leg: ClientLeg) {
        replaced.await(leg, since: reactor.now)
    }

    // MARK: Memory

    /// Memory for one message, valid until `body` returns.
    func withScratch(_ count: Int, _ body: (UnsafeMutableRawBufferPointer) -> Void) {
        if scratch.count < count {
            scratch.deallocate()
            scratch = .allocate(byteCount: count, alignment: 16)
        }
        body(UnsafeMutableRawBufferPointer(rebasing: scratch[..<count]))
    }
}
