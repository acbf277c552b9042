/// What it takes to open a connection: the addresses that are left to try, how they are dialled, and for how long. Reactor thread only.
///
/// An object of its own, because it is larger than all the rest of a connection, which needs none of it once it stands.
final class Dial: TimerTarget {
    let options: DialOptions
    /// The address that was dialled last.
    private(set) var address: ResolvedAddress?
    /// Calls come only until `end`, which comes before the connection's own end.
    private unowned let connection: TCPConnection
    private var addresses: ArraySlice<ResolvedAddress> = []
    private var lookup: NameLookup?
    private lazy var timer = ReactorTimer(on: connection.reactor)

    init(_ options: DialOptions, of connection: TCPConnection) {
        self.options = options
        self.connection = connection
        timer.arm(at: connection.reactor.now + UInt64(options.timeoutMilliseconds) * 1_000_000, calling: self)
    }

    /// - Parameter done: called once, and not before this returns; not after `end`.
    func lookUp(
        _ host: String, _ port: UInt16, done: @escaping (Result<[ResolvedAddress], TCPError>) -> Void
    ) {
        lookup = NameLookup.begin(host: host, port: port, for: options.chooser, on: connection.reactor, done: done)
    }

    /// From here on `nextAddress` gives those of them that are allowed.
    func resolved(_ found: [ResolvedAddress]) {
        lookup = nil
        addresses = found.filter(isAllowed)[...]
    }

    /// What isn't an IP address is nothing that a filter could judge.
    private func isAllowed(_ address: ResolvedAddress) -> Bool {
        address.peer.map { options.accepts($0.bytes) } ?? false
    }

    var hasMoreAddresses: Bool { !addresses.isEmpty }

    func nextAddress() -> ResolvedAddress? {
        guard let next = addresses.popFirst() else { return nil }
        address = next
        return next
    }

    /// The connection stands, or has been given up.
    func end() {
        lookup?.cancel()
        lookup = nil
        timer.cancel()
    }

    func timerFired(now: UInt64) {
        connection.dialTimedOut()
    }
}
