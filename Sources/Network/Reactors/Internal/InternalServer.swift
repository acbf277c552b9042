package import HTTPWire
import Synchronization
package import WireText

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

    package var isPublic: Bool {
        if case .network = self { true } else { false }
    }

    package var isUnix: Bool {
        if case .unix = self { true } else { false }
    }
}

/// How the internal listener is reached.
package struct InternalListening: Sendable {
    package var address: InternalAddress
    /// Of a Unix socket's file; nil: the process's own group.
    package var socketGroup: UInt32?
    /// Nil: plain HTTP. A Unix socket never has TLS.
    package var material: TLSMaterial?
    /// Connections of one address, if other machines reach the listener.
    package var maximumPerAddress: Int
    /// The settings have a token or an authority.
    package var demandsAccess: Bool

    package init(
        _ address: InternalAddress, socketGroup: UInt32? = nil, material: TLSMaterial? = nil, maximumPerAddress: Int,
        demandsAccess: Bool = false
    ) {
        self.address = address
        self.socketGroup = socketGroup
        self.material = material
        self.maximumPerAddress = maximumPerAddress
        self.demandsAccess = demandsAccess
    }
}

/// Answers requests of the internal listener, with the settings of one reload. One per reactor; called on its thread.
package protocol InternalHandler: AnyObject {
    /// The largest body of a request; a larger one is a fault.
    var maximumBodyBytes: Int { get }

    /// A request's head has arrived, and its body comes next.
    ///
    /// - Parameter isCertified: the peer has presented a client certificate that is good now.
    /// - Returns: who reads the body; nil: nobody does.
    func bodyReader(for head: RequestHead, isCertified: @autoclosure () -> Bool) -> (any InternalBodyReader)?

    /// A complete request. Answer it through the exchange, now or later.
    func handle(_ exchange: InternalExchange)

    /// Input that isn't a valid request. Returns the response; the connection then ends.
    func answer(to fault: RequestFault) -> HTTPAnswer

    /// After a TLS handshake: false ends the connection, because none of its requests would be served.
    ///
    /// - Parameter isCertified: the peer has presented a client certificate that is good.
    func mayConnect(isCertified: Bool) -> Bool

    /// A connection was closed before its first request.
    ///
    /// - Parameters:
    ///   - peer: nil for a Unix socket.
    ///   - detail: for the log; nothing that the peer chose.
    func connectionRefused(_ refusal: InternalRefusal, of peer: SocketAddress?, detail: String?)
}

/// Reads a body as it arrives. Nothing of it is kept. Reactor thread only.
package protocol InternalBodyReader: AnyObject {
    /// The bytes are valid only during the call.
    func read(_ bytes: UnsafeRawBufferPointer)
}

/// One request on the internal listener and its response, on the reactor's thread.
package final class InternalExchange {
    package let head: RequestHead
    package let reactor: Reactor
    package let isTLS: Bool
    /// As the handler has returned it for this request; it has read the whole body.
    package let bodyReader: (any InternalBodyReader)?
    private var connection: InternalConnection?

    init(
        head: RequestHead, bodyReader: (any InternalBodyReader)?, reactor: Reactor, connection: InternalConnection
    ) {
        self.head = head
        self.bodyReader = bodyReader
        self.reactor = reactor
        self.connection = connection
        isTLS = connection.isTLS
    }

    /// The peer has presented a client certificate that is good now.
    package var isCertified: Bool {
        reactor.preconditionOnThread()
        return connection?.isCertified ?? false
    }

    /// Sends the response. Only the first call has an effect; after the client is gone the response is discarded.
    package func respond(_ answer: HTTPAnswer) {
        reactor.preconditionOnThread()
        let connection = connection
        self.connection = nil
        connection?.respond(answer)
    }

    /// Ends the connection without an answer. A proxy asks again on another connection, as when one that it keeps has
    /// been closed.
    package func drop() {
        reactor.preconditionOnThread()
        let connection = connection
        self.connection = nil
        connection?.drop()
    }

    func abandon() { connection = nil }
}

/// The internal listener: HTTP/1.1 for proxies and tools of the operator, usually on a loopback address or a Unix
/// socket. It shares neither port nor limits with the clients' listener. On TCP it may have TLS, with the rules of the
/// edge and a material of its own.
///
/// The first reactor accepts and passes the sockets to the reactors in turn. Each connection stays on its reactor.
package final class InternalServer: Sendable {
    /// The maximum number of simultaneous connections; further ones are closed.
    package static let maximumConnections = 1_024

    /// `http://127.0.0.1:9090`, `https://…` or `unix:/path`.
    package let address: String
    private let listener: Pinned<Listener>
    private let connections: InternalConnections

    private enum Listener {
        case tcp(TCPListener)
        case local(LocalListener)
    }

    /// Listens; when it returns, requests are answered. Must not be called on a reactor.
    ///
    /// - Parameters:
    ///   - places: one for each of the pool's reactors, in their order.
    ///   - inherited: a listening socket of another process, which is served in place of `listening.address`'s.
    package init(
        _ listening: InternalListening, on pool: ReactorPool, inherited: InheritedListener? = nil,
        places: [Pinned<InternalPlace>]
    ) throws(ReactorError) {
        let isUnix = inherited?.isUnix ?? listening.address.isUnix
        let connections = try InternalConnections(
            places, isTLS: !isUnix && listening.material != nil,
            door: InternalDoor(
                maximumPerAddress: listening.maximumPerAddress,
                isPublic: inherited.map { !$0.isLocal } ?? listening.address.isPublic))
        let scheme = connections.isTLS ? "https" : "http"
        let outcome = pool.onFirstReactor { reactor in
            Result { () throws(ReactorError) -> (Pinned<Listener>, String) in
                if let inherited {
                    let name = inherited.isUnix ? inherited.name : "\(scheme)://\(inherited.name)"
                    return (Pinned(Self.listen(on: inherited, at: reactor, connections), to: reactor), name)
                }
                switch listening.address {
                case .unix(let path):
                    let listener = try LocalListener(
                        path: path, mode: LocalSocket.sharedMode, group: listening.socketGroup, on: reactor
                    ) { connections.serve($0, of: nil) }
                    return (Pinned(.local(listener), to: reactor), "unix:\(path)")
                case .loopback(let host, let port), .network(let host, let port):
                    let socket = try ListeningSocket(host: host, port: port)
                    let name = host.contains(":") ? "[\(host)]:\(socket.port)" : "\(host):\(socket.port)"
                    let listener = TCPListener(socket, on: reactor) { connections.serve($0, of: $1) }
                    return (Pinned(.tcp(listener), to: reactor), "\(scheme)://\(name)")
                }
            }
        }
        self.connections = connections
        (listener, self.address) = try outcome.get()
    }

    private static func listen(
        on inherited: InheritedListener, at reactor: Reactor, _ connections: InternalConnections
    ) -> Listener {
        guard inherited.isUnix else {
            let socket = ListeningSocket(inherited: inherited.descriptor)
            return .tcp(
                TCPListener(socket, on: reactor, accepts: inherited.accepts) { connections.serve($0, of: $1) })
        }
        return .local(
            LocalListener(
                inherited: inherited.descriptor, path: inherited.ownedPath, on: reactor, accepts: inherited.accepts
            ) { connections.serve($0, of: nil) })
    }

    package var isTLS: Bool { connections.isTLS }

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
