import Synchronization
import WireText

/// Why a connection to the internal listener was closed before its first request.
package enum InternalRefusal: Sendable, Equatable, CaseIterable {
    /// `InternalServer.maximumConnections`
    case total
    /// `FixedLimits.internalConnectionsPerAddress`
    case perAddress
    /// `InternalDoor.handshakesPerSecondPerAddress`, or `handshakesPerSecond`
    case handshakeRate
    case handshakeFailed
    case handshakeTimedOut
    /// Only a client certificate admits, and the peer has presented none that is good.
    case noCertificate
}

/// Decides whether another connection to the internal listener is served, before any TLS work. Safe from any thread.
///
/// Programs of this machine share one limit. Where other machines reach the listener, each address has its own limits
/// too, so that a stranger can't hold all places or have the gateway compute handshakes all the time.
final class InternalDoor: Sendable {
    /// Handshakes that begin in a second, over all addresses. One costs the gateway half a millisecond to three.
    static let handshakesPerSecond = 100
    /// Handshakes that may begin together: they are computed as soon as they arrive, and players wait meanwhile.
    static let handshakeBurst = 40
    /// The same of one address, with a burst of ten seconds' worth.
    static let handshakesPerSecondPerAddress = 20

    private static let total = Allowance(perSecond: handshakesPerSecond, burst: handshakeBurst)

    private let census: ConnectionCensus
    private let isPublic: Bool
    private let rates = HandshakeRates(
        perSecond: handshakesPerSecond, perSecondPerAddress: handshakesPerSecondPerAddress)
    /// When the allowance of all addresses is full again.
    private let untilInTotal = Mutex<UInt64>(0)

    /// - Parameter isPublic: other machines reach the listener.
    init(maximumPerAddress: Int, isPublic: Bool) {
        census = ConnectionCensus(
            maximum: InternalServer.maximumConnections, maximumPerAddress: maximumPerAddress)
        self.isPublic = isPublic
    }

    /// - Parameters:
    ///   - peer: nil for a Unix socket.
    ///   - now: monotonic nanoseconds.
    /// - Returns: why the connection isn't served. If it is (nil), `leave` must be called exactly once.
    func enter(_ peer: SocketAddress?, isTLS: Bool, at now: UInt64) -> InternalRefusal? {
        guard isPublic, let peer else { return census.enterUnnamed().map { _ in .total } }
        if let refusal = census.enter(peer) { return refusal == .total ? .total : .perAddress }
        guard isTLS, !mayShakeHands(peer, at: now) else { return nil }
        census.leave(peer)
        return .handshakeRate
    }

    private func mayShakeHands(_ peer: SocketAddress, at now: UInt64) -> Bool {
        rates.admits(peer.address.prefix, at: now)
            && untilInTotal.withLock { Self.total.take(from: &$0, at: now) }
    }

    func leave(_ peer: SocketAddress?) {
        guard isPublic, let peer else { return census.leaveUnnamed() }
        census.leave(peer)
    }
}
