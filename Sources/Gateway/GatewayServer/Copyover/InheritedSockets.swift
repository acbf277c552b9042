import Glibc
package import Reactors
import WireText

/// Listening sockets that another process has made. They are served in place of those that the settings name.
package struct InheritedSockets: Sendable {
    package private(set) var edge: [InheritedListener] = []
    /// For the other gateways of the fleet.
    private(set) var fleet: [InheritedListener] = []
    package private(set) var internalListener: InheritedListener?
    private(set) var control: InheritedListener?
    /// False: new connections wait until the state of the other process is here.
    var accepts = true

    package init() {}

    /// Each address once: the reactors may have a socket each.
    var edgeNames: [String] {
        edge.map(\.name).reduce(into: []) { names, name in if !names.contains(name) { names.append(name) } }
    }

    package var isEmpty: Bool { edge.isEmpty && fleet.isEmpty && internalListener == nil && control == nil }

    /// Connections to a socket that nobody serves would wait for ever.
    func closeUnused(fleet isFleetUnused: Bool, internalListener isUnused: Bool, control isControlUnused: Bool) {
        if isFleetUnused { for listener in fleet { closeSocket(listener.descriptor) } }
        if isUnused, let internalListener { closeSocket(internalListener.descriptor) }
        if isControlUnused, let control { closeSocket(control.descriptor) }
    }

    /// Those that listen where the settings say. Others are closed: gateways learn the address from the settings, and
    /// one that is to change may change.
    ///
    /// - Parameter port: 0: any.
    func fleet(at host: String, _ port: UInt16) -> [InheritedListener] {
        let address = IPAddress(text: host)
        var own: [InheritedListener] = []
        for listener in fleet {
            let isOwn = listener.address.map { $0.address == address && (port == 0 || $0.port == port) } ?? false
            if isOwn { own.append(listener) } else { closeSocket(listener.descriptor) }
        }
        return own
    }

    /// The settings of a listener that other machines reach demand a token or a certificate; those of other listeners
    /// may demand nothing.
    func checkInternalListener(replacing address: InternalAddress) throws(GatewayError) {
        guard let listener = internalListener, !listener.isLocal, !address.isPublic else { return }
        throw .internalListener(
            "\(listener.name) was inherited, and it must be a Unix socket or on a loopback address as ADMIN_BIND is")
    }

    /// - Throws: words for the operator.
    mutating func add(_ descriptor: Int32, for use: ListenerUse, ownsFile: Bool) throws(SocketFault) {
        if let problem = InheritedListener.problem(with: descriptor) {
            throw SocketFault("the inherited descriptor \(descriptor) is \(problem)")
        }
        guard var listener = InheritedListener(descriptor) else {
            throw SocketFault("the inherited descriptor \(descriptor) can't be used")
        }
        listener.accepts = accepts
        if ownsFile { listener.ownFile() }
        switch use {
        case .edge:
            guard !listener.isUnix else { throw SocketFault("\(listener.name) can't serve clients: it must be TCP") }
            edge.append(listener)
        case .fleet:
            guard !listener.isUnix else { throw SocketFault("\(listener.name) can't serve gateways: it must be TCP") }
            fleet.append(listener)
        case .internalListener:
            guard internalListener == nil else { throw SocketFault("there may be one internal listener only") }
            internalListener = listener
        case .control:
            guard listener.isUnix, control == nil else {
                throw SocketFault("\(listener.name) can't be the control socket")
            }
            control = listener
        }
    }
}

package struct SocketFault: Error, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }
}

// MARK: Socket activation, sd_listen_fds(3)

extension InheritedSockets {
    package static let firstDescriptor: Int32 = 3
    private static let maximumCount: Int32 = 64

    /// The sockets that a service manager has passed: by LISTEN_FDNAMES `edge`, `fleet` and `admin`; without names the
    /// first is the edge's and the second the internal listener's. The variables are removed: no program that the
    /// gateway starts is meant.
    ///
    /// - Parameters:
    ///   - processID: of this process.
    ///   - first: the number of the first one.
    package static func activated(
        _ environment: [String: String], processID: Int32 = getpid(), first: Int32 = firstDescriptor
    ) throws(SocketFault) -> InheritedSockets {
        defer { for name in ["LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES"] { unsetenv(name) } }
        var sockets = InheritedSockets()
        guard let count = environment["LISTEN_FDS"], environment["LISTEN_PID"] == String(processID) else {
            return sockets
        }
        guard let count = Int32(count), (1...maximumCount).contains(count) else {
            throw SocketFault("LISTEN_FDS is \(count), which isn't a number from 1 to \(maximumCount)")
        }
        let names = environment["LISTEN_FDNAMES"].map { $0.split(separator: ":", omittingEmptySubsequences: false) }
        if let names, names.count != Int(count) {
            throw SocketFault("LISTEN_FDNAMES has \(names.count) names for \(count) sockets")
        }
        for index in 0..<count {
            let use = try use(of: names.map { String($0[Int(index)]) }, at: index)
            try sockets.add(first + index, for: use, ownsFile: false)
        }
        return sockets
    }

    /// systemd names a socket after its unit where FileDescriptorName isn't set.
    private static func use(of name: String?, at index: Int32) throws(SocketFault) -> ListenerUse {
        switch name {
        case "edge": .edge
        case "fleet": .fleet
        case "admin": .internalListener
        case nil, "unknown"?: try use(at: index)
        case let name? where name.hasSuffix(".socket"): try use(at: index)
        case let name?: throw SocketFault("the socket named \(name) has no use: the names are edge, fleet and admin")
        }
    }

    private static func use(at index: Int32) throws(SocketFault) -> ListenerUse {
        switch index {
        case 0: .edge
        case 1: .internalListener
        default: throw SocketFault("more than two sockets need names (FileDescriptorName=): edge, fleet or admin")
        }
    }
}
