/// The counts of one reactor since the start; the counts of all reactors are merged.
struct LoadStatistics: Sendable {
    /// The current number.
    var connected = 0
    /// Clients that were connected at least once or failed to connect.
    var clientsTried = 0
    /// Clients whose traffic has stopped and whose answers have all arrived.
    var clientsQuiet = 0

    /// Connections that were opened, and failed attempts.
    var connects: UInt64 = 0
    var failedConnects: UInt64 = 0
    /// The time when the last client was connected for the first time.
    var lastFirstConnect: UInt64 = 0
    var messagesSent: UInt64 = 0
    /// Messages whose answer is complete; for a source of numbered lines, each line counts.
    var messagesAnswered: UInt64 = 0
    /// Bytes of the streams, without the dialect's encoding.
    var bytesSent: UInt64 = 0
    var bytesReceived: UInt64 = 0

    /// Connections that the client dropped at random.
    var vanished: UInt64 = 0
    var resumed: UInt64 = 0
    /// Among these, the ones dropped before the answer to their `resume` arrived.
    var answersLost: UInt64 = 0
    /// Connections that were closed because another one took over their session.
    var takenOver: UInt64 = 0
    /// Connections whose session went to a connection that the same client had already abandoned.
    var overtaken: UInt64 = 0
    /// Resumes that the gateway postponed.
    var postponed: UInt64 = 0
    /// Typed sessions that began; among these, the ones that replaced an ended session; and the bytes in flight at that
    /// time.
    var begun: UInt64 = 0
    var begunAnew: UInt64 = 0
    var abandonedBytes: UInt64 = 0
    /// Sessions that were requested, and may have begun, by connections that ended before the answer: no client can
    /// resume these.
    var unclaimed: UInt64 = 0
    /// Gaps announced by the gateway.
    var gaps: UInt64 = 0
    var gapBytes: UInt64 = 0
    /// Bytes that arrived once and in their place, in completed streams.
    var checkedBytes: UInt64 = 0

    var errors = ErrorCounts()
    var latency = LatencyHistogram()
    var connectLatency = LatencyHistogram()

    mutating func merge(_ other: LoadStatistics) {
        connected += other.connected
        clientsTried += other.clientsTried
        clientsQuiet += other.clientsQuiet
        connects += other.connects
        failedConnects += other.failedConnects
        lastFirstConnect = max(lastFirstConnect, other.lastFirstConnect)
        messagesSent += other.messagesSent
        messagesAnswered += other.messagesAnswered
        bytesSent += other.bytesSent
        bytesReceived += other.bytesReceived
        vanished += other.vanished
        resumed += other.resumed
        answersLost += other.answersLost
        takenOver += other.takenOver
        overtaken += other.overtaken
        postponed += other.postponed
        begun += other.begun
        begunAnew += other.begunAnew
        abandonedBytes += other.abandonedBytes
        unclaimed += other.unclaimed
        gaps += other.gaps
        gapBytes += other.gapBytes
        checkedBytes += other.checkedBytes
        errors.merge(other.errors)
        latency.merge(other.latency)
        connectLatency.merge(other.connectLatency)
    }

    mutating func count(_ faults: [StreamFault]) {
        for fault in faults {
            let (kind, bytes) = ErrorKind.of(fault)
            errors.count(kind, bytes)
        }
    }

    static func sum(of parts: some Sequence<LoadStatistics>) -> LoadStatistics {
        parts.reduce(into: LoadStatistics()) { $0.merge($1) }
    }
}

/// The start of the measurement of latencies.
///
/// Everything whose intended start is in the measurement counts, however late it ends. Leaving out what ends after the
/// measurement would drop the longest latencies.
struct MeasurementStart: Sendable {
    private var start: UInt64?

    mutating func begin(at time: UInt64) {
        start = time
    }

    /// - Parameter intended: the intended start.
    func includes(_ intended: UInt64) -> Bool { start.map { intended >= $0 } ?? false }
}
