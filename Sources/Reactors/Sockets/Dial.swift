import WireText

/// The state of opening a connection: the addresses left to try, the options and the timeout. Reactor thread only.
///
/// It is a separate object because it is larger than the rest of a connection, which doesn't need it once it is established.
final class Dial: TimerTarget {
    let options: DialOptions
    /// The address dialled last.
    private(set) var address: ResolvedAddress?
    /// Called only until `end`, which comes before the connection's own end.
    private unowned let connection: TCPConnection
    private var addresses: ArraySlice<ResolvedAddress> = []
    private var lookup: NameLookup?
    private lazy var timer = ReactorTimer(on: connection.reactor)

    init(_ options: DialOptions, of connection: TCPConnection) {
        self.options = options
        self.connection = connection
        timer.arm(at: connection.reactor.now + UInt64(options.timeoutMilliseconds) * 1_000_000, calling: self)
    }

    /// - Parameter done: called once, never before this returns and never after `end`.
    func lookUp(
        _ host: String, _ port: UInt16, done: @escaping (Result<[ResolvedAddress], TCPError>) -> Void
    ) {
        lookup = NameLookup.begin(host: host, port: port, for: options.chooser, on: connection.reactor, done: done)
    }

    /// Sets the resolved addresses; `nextAddress` returns the allowed ones.
    func resolved(_ found: [ResolvedAddress]) {
        lookup = nil
        addresses = found.filter(isAllowed)[...]
    }

    /// An address that isn't an IP address is refused: the filter can't judge it.
    private func isAllowed(_ address: ResolvedAddress) -> Bool {
        address.peer.map { options.accepts($0.address.bytes) } ?? false
    }

    var hasMoreAddresses: Bool { !addresses.isEmpty }

    func nextAddress() -> ResolvedAddress? {
        guard let next = addresses.popFirst() else { return nil }
        address = next
        return next
    }

    /// The connection is established or was given up.
    func end() {
        lookup?.cancel()
        lookup = nil
        timer.cancel()
    }

    func timerFired(now: UInt64) {
        connection.dialTimedOut()
    }
}
