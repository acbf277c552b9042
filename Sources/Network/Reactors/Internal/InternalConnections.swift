import Glibc
import Synchronization
import WireText

/// The open connections of all reactors: counts them, and gives them to the reactors in turn.
final class InternalConnections: Sendable {
    private let places: [Pinned<InternalPlace>]
    /// One for each place; empty without TLS.
    private let tls: [Pinned<InternalTLS>]
    private let door: InternalDoor
    private let next = Atomic<Int>(0)

    /// - Parameters:
    ///   - places: the first one's reactor calls `serve`.
    ///   - isTLS: what the places serve with has a material then, always.
    init(_ places: [Pinned<InternalPlace>], isTLS: Bool, door: InternalDoor) throws(ReactorError) {
        self.places = places
        self.door = door
        var made: [Pinned<InternalTLS>] = []
        if isTLS {
            for place in places { made.append(Pinned(try InternalTLS(at: place), to: place.reactor)) }
        }
        tls = made
    }

    var isTLS: Bool { !tls.isEmpty }

    /// Takes ownership of an accepted socket. On the first place's reactor.
    ///
    /// - Parameter peer: nil for a Unix socket.
    func serve(_ socket: Int32, of peer: SocketAddress?) {
        let here = places[0]
        if let refusal = door.enter(peer, isTLS: isTLS, at: here.reactor.now) {
            close(socket)
            return here.value.handler.connectionRefused(refusal, of: peer, detail: nil)
        }
        let turn = next.wrappingAdd(1, ordering: .relaxed).oldValue % places.count
        let place = places[turn]
        let tls = tls.isEmpty ? nil : tls[turn]
        place.reactor.submit { [door] in
            InternalConnection(of: peer, at: place.value, on: place.reactor) { door.leave(peer) }
                .serve(socket, tls?.value)
        }
    }
}
