package import HTTPWire
import Synchronization

/// Where other programs of the operator reach the gateway.
package enum InternalAddress: Sendable, Equatable {
    /// - Parameters:
    ///   - host: a numeric loopback address.
    ///   - port: 0 lets the kernel choose.
    case loopback(host: String, port: UInt16)
    /// An address that other machines can reach.
    case network(host: String, port: UInt16)
    /// A Unix socket. Its file has mode 0660, so the proxy's user can be given access by the group.
    case unix(path: String)
}

/// Answers requests of the internal listener. One per reactor; called on its thread.
package protocol InternalHandler: AnyObject {
    /// A complete request. Answer it through the exchange, now or later.
    func handle(_ exchange: InternalExchange)

    /// Input that isn't a valid request. Returns the response; the connection then ends.
    func answer(to fault: RequestFault) -> HTTPAnswer
}

/// One request on the internal listener and its response, on the reactor's thread.
package final class InternalExchange {
    package let head: RequestHead
    package let reactor: Reactor
    private var connection: InternalConnection?

    init(head: RequestHead, reactor: Reactor, connection: InternalConnection) {
        self.head = head
        self.reactor = reactor
        self.connection = connection
    }

    /// Sends the response. Only the first call has an effect; after the client is gone the response is discarded.
    package func respond(_ answer: HTTPAnswer) {
        reactor.preconditionOnThread()
        let connection = connection
        self.connection = nil
        connection?.respond(answer)
    }

    /// Ends the connection without an answer. A proxy asks again on another connection, as when one that it keeps has been closed.
    package func drop() {
        reactor.preconditionOnThread()
        let connection = connection
        self.connection = nil
        connection?.drop()
    }

    func abandon() { connection = nil }
}

/// The internal listener: plain HTTP/1.1 for proxies and tools of the operator, usually on a loopback address or a Unix socket. It shares
/// neither port nor limits with the clients' listener, and has no TLS.
///
/// The first reactor accepts and passes the sockets to the reactors in turn. Each connection stays on its reactor.
package final class InternalServer: Sendable {
    /// The maximum number of simultaneous connections; further ones are closed.
    package static let maximumConnections = 1_024

    /// `http://127.0.0.1:9090` or `unix:/path`.
    package let address: String
    private let listener: Pinned<Listener>

    private enum Listener {
        case tcp(TCPListener)
        case local(LocalListener)
    }

    /// Listens; when it returns, requests are answered. Must not be called on a reactor.
    ///
    /// - Parameters:
    ///   - handlers: one for each of the pool's reactors.
    ///   - inherited: a listening socket of another process, which is served in place of `address`'s.
    package init(
        _ address: InternalAddress, on pool: ReactorPool, inherited: InheritedListener? = nil,
        handlers: [Pinned<any InternalHandler>]
    ) throws(ReactorError) {
        let connections = InternalConnections(handlers)
        let outcome = pool.onFirstReactor { reactor in
            Result { () throws(ReactorError) -> (Pinned<Listener>, String) in
                if let inherited {
                    return (Pinned(Self.listen(on: inherited, at: reactor, connections), to: reactor), inherited.name)
                }
                switch address {
                case .unix(let path):
                    let listener = try LocalListener(path: path, mode: LocalSocket.sharedMode, on: reactor) {
                        connections.serve($0)
                    }
                    return (Pinned(.local(listener), to: reactor), "unix:\(path)")
                case .loopback(let host, let port), .network(let host, let port):
                    let socket = try ListeningSocket(host: host, port: port)
                    let name = host.contains(":") ? "[\(host)]:\(socket.port)" : "\(host):\(socket.port)"
                    let listener = TCPListener(socket, on: reactor) { socket, _ in connections.serve(socket) }
                    return (Pinned(.tcp(listener), to: reactor), "http://\(name)")
                }
            }
        }
        (listener, self.address) = try outcome.get()
    }

    private static func listen(
        on inherited: InheritedListener, at reactor: Reactor, _ connections: InternalConnections
    ) -> Listener {
        guard inherited.isUnix else {
            let socket = ListeningSocket(inherited: inherited.descriptor)
            return .tcp(
                TCPListener(socket, on: reactor, accepts: inherited.accepts) { socket, _ in connections.serve(socket) })
        }
        return .local(
            LocalListener(
                inherited: inherited.descriptor, path: inherited.ownedPath, on: reactor, accepts: inherited.accepts
            ) { connections.serve($0) })
    }

    /// Accepts no more connections; open ones go on. Call it once.
    ///
    /// - Parameter keepsFile: another process goes on with the socket.
    package func stopListening(keepsFile: Bool = false) {
        listener.reactor.submit { [listener] in
            switch listener.value {
            case .tcp(let listener): listener.close()
            case .local(let listener): listener.close(keepsFile: keepsFile)
            }
        }
    }

    /// Without accepting, new connections wait in the kernel's queue.
    package func setAccepting(_ accepts: Bool) {
        listener.reactor.submit { [listener] in
            switch listener.value {
            case .tcp(let listener): listener.setAccepting(accepts)
            case .local(let listener): listener.setAccepting(accepts)
            }
        }
    }

    /// Which stays this server's own: for another process, which gets a copy. Not for a reactor.
    package var listeningSocket: Int32 {
        let outcome = BlockingAnswer<Int32>()
        listener.reactor.submit { [listener] in
            switch listener.value {
            case .tcp(let listener): outcome.set(listener.descriptor)
            case .local(let listener): outcome.set(listener.descriptor)
            }
        }
        return outcome.wait()
    }
}

/// The open connections of all reactors, counted.
final class InternalConnections: Sendable {
    private let handlers: [Pinned<any InternalHandler>]
    private let state = Mutex((open: 0, next: 0))

    init(_ handlers: [Pinned<any InternalHandler>]) { self.handlers = handlers }

    /// Takes ownership of an accepted socket.
    func serve(_ socket: Int32) {
        let turn = state.withLock { state -> Int? in
            guard state.open < InternalServer.maximumConnections else { return nil }
            state.open += 1
            state.next += 1
            return state.next
        }
        guard let turn else { return closeSocket(socket) }
        let handler = handlers[turn % handlers.count]
        handler.reactor.submit { [self] in
            InternalConnection(handler: handler.value, on: handler.reactor) { self.leave() }.serve(socket)
        }
    }

    private func leave() { state.withLock { $0.open -= 1 } }
}
