import Glibc
import Synchronization
import WireText

/// The open connections of all reactors: counts them, and gives them to the reactors in turn.
final class InternalConnections: Sendable {
    private let handlers: [Pinned<any InternalHandler>]
    /// One for each handler; empty without TLS.
    private let tls: [Pinned<InternalTLS>]
    private let door: InternalDoor
    private let next = Atomic<Int>(0)

    /// - Parameter handlers: the first one's reactor calls `serve`.
    init(
        _ handlers: [Pinned<any InternalHandler>], material: TLSMaterial?, door: InternalDoor
    ) throws(ReactorError) {
        self.handlers = handlers
        self.door = door
        var made: [Pinned<InternalTLS>] = []
        if let material {
            for handler in handlers { made.append(Pinned(try InternalTLS(material), to: handler.reactor)) }
        }
        tls = made
    }

    var isTLS: Bool { !tls.isEmpty }

    func replace(material: TLSMaterial?, maximumPerAddress: Int) {
        door.setMaximumPerAddress(maximumPerAddress)
        guard let material else { return }
        for tls in tls { tls.reactor.submit { tls.value.material = material } }
    }

    /// Takes ownership of an accepted socket. On the first handler's reactor.
    ///
    /// - Parameter peer: nil for a Unix socket.
    func serve(_ socket: Int32, of peer: SocketAddress?) {
        let here = handlers[0]
        if let refusal = door.enter(peer, isTLS: isTLS, at: here.reactor.now) {
            close(socket)
            return here.value.connectionRefused(refusal, of: peer, detail: nil)
        }
        let turn = next.wrappingAdd(1, ordering: .relaxed).oldValue % handlers.count
        let handler = handlers[turn]
        let tls = tls.isEmpty ? nil : tls[turn]
        handler.reactor.submit { [door] in
            InternalConnection(of: peer, handler: handler.value, on: handler.reactor) { door.leave(peer) }
                .serve(socket, tls?.value)
        }
    }
}
