/// What one reactor has counted, from the start on; all together are merged.
struct LoadStatistics: Sendable {
    /// At present.
    var connected = 0
    /// Clients that have been connected at least once, or have failed to.
    var clientsTried = 0
    /// Clients whose traffic has stopped, and whose answers have all come.
    var clientsQuiet = 0

    /// Connections that were opened, and attempts that came to nothing.
    var connects: UInt64 = 0
    var failedConnects: UInt64 = 0
    /// When the last client was connected for the first time.
    var lastFirstConnect: UInt64 = 0
    var messagesSent: UInt64 = 0
    /// Whose whole answer has come; of a source of numbered lines each line is one.
    var messagesAnswered: UInt64 = 0
    /// Of the streams, without any dialect's dress.
    var bytesSent: UInt64 = 0
    var bytesReceived: UInt64 = 0

    /// Connections that the client has ended at random.
    var vanished: UInt64 = 0
    var resumed: UInt64 = 0
    /// Of these, how often the client vanished before the answer to its `resume` had come.
    var answersLost: UInt64 = 0
    /// Connections that were told that another has their session.
    var takenOver: UInt64 = 0
    /// Connections whose session went to one of the same client's that it had left already.
    var overtaken: UInt64 = 0
    /// Resumes that had to wait, by the gateway's word.
    var postponed: UInt64 = 0
    /// Sessions of the typed dialect that began; of these, ones in place of a session that was over; how many bytes were on their way then.
    var begun: UInt64 = 0
    var begunAnew: UInt64 = 0
    var abandonedBytes: UInt64 = 0
    /// Sessions that were asked for, and may have begun, by connections that ended before the answer: nobody knows how to come back for one.
    var unclaimed: UInt64 = 0
    /// That the gateway itself has told.
    var gaps: UInt64 = 0
    var gapBytes: UInt64 = 0
    /// That have come once and in their place, in streams that are over.
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
