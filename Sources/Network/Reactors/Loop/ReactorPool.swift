import CLibwebsockets
import Glibc
package import Logging
import Synchronization
import WireText

/// All reactors of a process, and the address that they serve together.
package final class ReactorPool: Sendable {
    package let reactors: [Reactor]
    package let census: ConnectionCensus
    /// The edge's listening sockets, of all reactors.
    private let listening = Mutex<[Int32]>([])
    /// Those for the other gateways of the fleet.
    private let listeningForGateways = Mutex<[Int32]>([])

    /// Creates the threads and, one after another, the libwebsockets contexts, all of them before any accepts.
    package init(
        count: Int, census: ConnectionCensus, logger: Logger
    ) throws(ReactorError) {
        self.census = census
        LibwebsocketsLog.use(logger)
        reactors = (0..<count).map { Reactor(index: $0, logger: logger) }
        for reactor in reactors {
            try reactor.start()
        }
    }

    /// Starts serving on every reactor; returns when all of them accept.
    ///
    /// - Parameters:
    ///   - host: a numeric address.
    ///   - port: 0 lets the kernel choose one port for all.
    ///   - inherited: listening sockets of another process, which are served in place of `hosts` and `port`; it takes
    ///     ownership.
    ///   - accepts: false leaves new connections in the kernel's queues until `setAccepting`.
    ///   - service: called on each reactor's thread, and so is what it returns: see `EdgeListener`.
    /// - Returns: the port.
    package func listen(
        hosts: [String], port: UInt16, inherited: [Int32] = [], accepts: Bool = true,
        service: @escaping @Sendable (Reactor) -> () -> EdgeService
    ) throws(ReactorError) -> UInt16 {
        let (descriptors, bound) = try sockets(at: hosts, port, or: inherited)
        listening.withLock { $0 = descriptors.flatMap(\.self) }
        for (reactor, descriptors) in zip(reactors, descriptors) {
            let outcome = BlockingAnswer<ReactorError?>()
            reactor.submit { [census] in
                outcome.set(
                    reactor.serve(descriptors, accepts: accepts) { () throws(ReactorError) in
                        let listener = try EdgeListener(reactor: reactor, census: census, service: service(reactor))
                        reactor.edge = listener
                        return listener
                    })
            }
            if let error = outcome.wait() { throw error }
        }
        return bound
    }

    /// - Returns: the sockets of each reactor, and their port.
    private func sockets(
        at hosts: [String], _ port: UInt16, or inherited: [Int32]
    ) throws(ReactorError) -> (ofReactors: [[Int32]], port: UInt16) {
        guard inherited.isEmpty else {
            return (
                try InheritedListener.spread(inherited, over: reactors.count),
                localAddress(of: inherited[0])?.port ?? port
            )
        }
        var bound = port
        var descriptors = [[Int32]](repeating: [], count: reactors.count)
        for host in hosts {
            for index in reactors.indices {
                let socket = try ListeningSocket(host: host, port: bound, isFirst: index == 0)
                bound = socket.port
                descriptors[index].append(socket.take())
            }
        }
        return (descriptors, bound)
    }

    /// Listens for the other gateways of the fleet, on every reactor; call it after `listen`.
    ///
    /// - Parameters:
    ///   - census: of these connections alone.
    ///   - inherited, accepts, service: as for `listen`; the service has the fleet's TLS.
    /// - Returns: the port.
    package func listenForGateways(
        host: String, port: UInt16, access: GatewayAccess, census: ConnectionCensus, inherited: [Int32] = [],
        accepts: Bool = true, service: @escaping @Sendable (Reactor) -> () -> EdgeService
    ) throws(ReactorError) -> UInt16 {
        let (descriptors, bound) = try sockets(at: [host], port, or: inherited)
        listeningForGateways.withLock { $0 = descriptors.flatMap(\.self) }
        for (reactor, descriptors) in zip(reactors, descriptors) {
            let outcome = BlockingAnswer<ReactorError?>()
            reactor.submit {
                outcome.set(
                    reactor.serve(descriptors, accepts: accepts) { () throws(ReactorError) in
                        let listener = try EdgeListener(
                            reactor: reactor, gateways: access, census: census, service: service(reactor))
                        reactor.fleetEdge = listener
                        return listener
                    })
            }
            if let error = outcome.wait() { throw error }
        }
        return bound
    }

    /// Runs `body` on the first reactor's thread and waits for it. Must not be called on a reactor.
    package func onFirstReactor<Value: Sendable>(_ body: @escaping @Sendable (Reactor) -> Value) -> Value {
        let outcome = BlockingAnswer<Value>()
        let reactor = reactors[0]
        reactor.submit { outcome.set(body(reactor)) }
        return outcome.wait()
    }

    /// The edge's listening sockets, which stay this pool's own: for another process, which gets copies.
    package var listeningSockets: [Int32] { listening.withLock { $0 } }

    /// The same of the listener for other gateways; empty without one.
    package var listeningSocketsForGateways: [Int32] { listeningForGateways.withLock { $0 } }

    /// On every reactor, before what is submitted afterwards: see `EdgeListener.setAccepting`.
    package func setAccepting(_ accepts: Bool) {
        for reactor in reactors {
            reactor.submit {
                reactor.edge?.setAccepting(accepts)
                reactor.fleetEdge?.setAccepting(accepts)
            }
        }
    }

    /// The same: see `EdgeListener.setLeaving`.
    package func setLeaving(_ isLeaving: Bool) {
        for reactor in reactors {
            reactor.submit {
                reactor.edge?.setLeaving(isLeaving)
                reactor.fleetEdge?.setLeaving(isLeaving)
            }
        }
    }

    /// Stops accepting new connections; established ones go on.
    package func stopListening() {
        for reactor in reactors {
            reactor.submit {
                reactor.edge?.closeListening()
                reactor.fleetEdge?.closeListening()
            }
        }
    }

    /// Returns freed memory of libwebsockets, OpenSSL and our own code to the system. Not for a reactor: it walks the
    /// heap.
    package static func returnFreedMemory() {
        portcullis_malloc_trim()
    }

    package func stop() {
        for reactor in reactors {
            reactor.stop()
        }
    }
}

extension Reactor {
    /// Connections that are neither WebSockets nor closed. On the reactor's thread.
    package var connectionsInHTTP: Int { (edge?.connectionsUnderWay ?? 0) + (fleetEdge?.connectionsUnderWay ?? 0) }

    /// TLS handshakes that wait for their turn. On the reactor's thread.
    package var handshakesWaiting: Int { edge?.handshakes.waiting ?? 0 }

    fileprivate func serve(
        _ descriptors: [Int32], accepts: Bool, by makeListener: () throws(ReactorError) -> EdgeListener
    ) -> ReactorError? {
        do throws(ReactorError) {
            let listener = try makeListener()
            listener.setAccepting(accepts)
            for descriptor in descriptors { listener.listen(on: descriptor) }
            return nil
        } catch {
            return error
        }
    }
}
