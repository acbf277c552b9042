import Synchronization
import WireText

/// The limit for which a socket was closed before TLS.
package enum CensusRefusal: Sendable {
    case total
    case perAddress
    /// `TLS_HANDSHAKES_PER_SECOND_PER_ADDRESS`, or too many waiting handshakes.
    case handshakeRate
}

/// Counts the open client sockets, in total and per address. Shared by all reactors of a process.
///
/// It is asked before any TLS work: a socket that isn't admitted is closed at once.
package final class ConnectionCensus: Sendable {
    /// One entry per address with open sockets, so `maximum` bounds it.
    private let counts: Mutex<Counts>
    /// The rate limits for handshakes.
    package let handshakes: HandshakeRates

    private struct Counts {
        /// `MAX_CONNECTIONS`
        var maximum: Int
        /// `MAX_CONNECTIONS_PER_ADDRESS`
        var maximumPerAddress: Int
        var total = 0
        var byAddress: [AddressPrefix: Int] = [:]
    }

    /// - Parameters:
    ///   - maximum: sockets open at once, over all addresses.
    ///   - maximumPerAddress: sockets open at once from one IPv4 address or one IPv6 /64.
    package init(maximum: Int, maximumPerAddress: Int, handshakes: HandshakeRates = HandshakeRates()) {
        self.handshakes = handshakes
        counts = Mutex(Counts(maximum: maximum, maximumPerAddress: maximumPerAddress))
    }

    /// Sockets that are already open stay open, even if they exceed the new limits.
    package func setLimits(maximum: Int, maximumPerAddress: Int) {
        counts.withLock { counts in
            counts.maximum = maximum
            counts.maximumPerAddress = maximumPerAddress
        }
    }

    package var total: Int { counts.withLock { $0.total } }

    /// - Returns: why the socket is refused. If it is admitted (nil), `leave` must be called exactly once.
    func enter(_ peer: SocketAddress) -> CensusRefusal? {
        counts.withLock { counts in
            let here = counts.byAddress[peer.address.prefix, default: 0]
            guard counts.total < counts.maximum else { return .total }
            guard here < counts.maximumPerAddress else { return .perAddress }
            counts.total += 1
            counts.byAddress[peer.address.prefix] = here + 1
            return nil
        }
    }

    /// Counts a socket whose client address isn't known yet, only the proxy's. It counts toward the total only. Returns
    /// the same as `enter`; if it is admitted, `name` or `leaveUnnamed` must follow.
    func enterUnnamed() -> CensusRefusal? {
        counts.withLock { counts in
            guard counts.total < counts.maximum else { return .total }
            counts.total += 1
            return nil
        }
    }

    /// Assigns the client's address to a socket that `enterUnnamed` counted.
    ///
    /// - Returns: why the socket is refused; it is no longer counted then. If it is admitted (nil), `leave` must be
    ///   called exactly once.
    func name(_ peer: SocketAddress) -> CensusRefusal? {
        leaveUnnamed()
        return enter(peer)
    }

    func leaveUnnamed() {
        counts.withLock { $0.total -= 1 }
    }

    func leave(_ peer: SocketAddress) {
        counts.withLock { counts in
            counts.total -= 1
            let here = counts.byAddress[peer.address.prefix, default: 1] - 1
            counts.byAddress[peer.address.prefix] = here > 0 ? here : nil
        }
    }
}
