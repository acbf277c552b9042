import Synchronization

/// Which limit a socket was over that was closed before TLS.
package enum CensusRefusal: Sendable {
    case total
    case perAddress
    /// `TLS_HANDSHAKES_PER_SECOND_PER_ADDRESS`, or too many handshakes that wait.
    case handshakeRate
}

/// Counts the sockets that are open to the outside, in total and by address; shared by all reactors of a process.
///
/// Asked before TLS costs anything: a socket that is not admitted here is closed at once.
package final class ConnectionCensus: Sendable {
    /// {counts} As many entries as there are addresses with open sockets: bounded by the maximum.
    private let counts: Mutex<Counts>
    /// Beside the number of sockets: how often a handshake may begin.
    package let handshakes: HandshakeRates

    private struct Counts {
        /// `MAX_CONNECTIONS`
        var maximum: Int
        /// `MAX_CONNECTIONS_PER_ADDRESS`
        var maximumPerAddress: Int
        var total = 0
        var byAddress: [ArraySlice<UInt8>: Int] = [:]
    }

    /// - Parameters:
    ///   - maximum: sockets open at once, over all addresses.
    ///   - maximumPerAddress: sockets open at once from one IPv4 address or one IPv6 /64.
    package init(maximum: Int, maximumPerAddress: Int, handshakes: HandshakeRates = HandshakeRates()) {
        self.handshakes = handshakes
        counts = Mutex(Counts(maximum: maximum, maximumPerAddress: maximumPerAddress))
    }

    /// Sockets that are open already stay, also where they are too many now.
    package func setLimits(maximum: Int, maximumPerAddress: Int) {
        counts.withLock { counts in
            counts.maximum = maximum
            counts.maximumPerAddress = maximumPerAddress
        }
    }

    package var total: Int { counts.withLock { $0.total } }

    /// - Returns: why the socket may not stay; where it may (nil), `leave` must follow exactly once.
    func enter(_ address: PeerAddress) -> CensusRefusal? {
        counts.withLock { counts in
            let here = counts.byAddress[address.limitKey, default: 0]
            guard counts.total < counts.maximum else { return .total }
            guard here < counts.maximumPerAddress else { return .perAddress }
            counts.total += 1
            counts.byAddress[address.limitKey] = here + 1
            return nil
        }
    }

    /// Counts a socket of which only a proxy's address is known: toward the total. The same as for `enter`; then `name` or
    /// `leaveUnnamed` must follow.
    func enterUnnamed() -> CensusRefusal? {
        counts.withLock { counts in
            guard counts.total < counts.maximum else { return .total }
            counts.total += 1
            return nil
        }
    }

    /// A socket that was counted by `enterUnnamed` turns out to come from `address`.
    ///
    /// - Returns: why it may not stay: then it is counted no more. Where it may (nil), `leave` must follow exactly once.
    func name(_ address: PeerAddress) -> CensusRefusal? {
        leaveUnnamed()
        return enter(address)
    }

    func leaveUnnamed() {
        counts.withLock { $0.total -= 1 }
    }

    func leave(_ address: PeerAddress) {
        counts.withLock { counts in
            counts.total -= 1
            let here = counts.byAddress[address.limitKey, default: 1] - 1
            counts.byAddress[address.limitKey] = here > 0 ? here : nil
        }
    }
}
