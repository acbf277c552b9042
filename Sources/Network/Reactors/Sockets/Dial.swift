package import WireText

/// The state of opening a connection: the addresses left to try, the options and the timeout. Reactor thread only.
///
/// It is a separate object because it is larger than the rest of a connection, which doesn't need it once it is
/// established.
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

/// Options for opening a connection to a target.
package struct DialOptions: Sendable {
    package typealias Prologue = @Sendable (_ local: SocketAddress, _ remote: SocketAddress) -> [UInt8]

    /// The time limit for resolving and connecting together. The TLS handshake has its own limit: see
    /// `TargetTLSSettings`.
    package var timeoutMilliseconds: Int
    /// Called for every address before it is dialled, also for a numeric host. The address has 4 or 16 bytes in network
    /// order; an IPv4-mapped address is passed as its 4 bytes. If it accepts none, the dial ends with
    /// `TCPError.notAllowed`.
    package var accepts: @Sendable (_ address: [UInt8]) -> Bool
    /// The party that chose the host.
    package var chooser = HostChooser.operators
    /// Closes a connection whose two ends have the same address, before its first byte, with `TCPError.notAllowed`.
    /// Such a connection leads back to this machine, whose own public addresses appear in no list of networks.
    package var refusesThisMachine = false
    /// Makes the first bytes to send, once both ends' addresses are known: a PROXY header, before any TLS. Called once
    /// per established connection; an empty result sends nothing.
    package var prologue: Prologue?

    /// The local IPv4 address to connect from; nil lets the system choose.
    package var source: String?

    package init(
        timeoutMilliseconds: Int, accepts: @escaping @Sendable (_ address: [UInt8]) -> Bool = { _ in true },
        prologue: Prologue? = nil
    ) {
        self.timeoutMilliseconds = timeoutMilliseconds
        self.accepts = accepts
        self.prologue = prologue
    }
}
