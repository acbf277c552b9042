import ArgumentParser
import Logging
import Reactors

struct MudCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "mud", abstract: "A small MUD over telnet.")

    @Option(help: "The numeric address to listen on.")
    var host = "127.0.0.1"

    @Option(help: "The port; 0 takes a free one.")
    var port: UInt16 = 4000

    func run() async throws {
        let reactor = Reactor(index: 0, logger: Logger(label: "mud"))
        try reactor.start()
        let socket = try SimOutput.listeningSocket(host: host, port: port)
        let bound = socket.port
        let waiting = ListeningBox(socket)
        reactor.submit {
            guard let socket = waiting.take() else { return }
            MudServer(on: reactor).listen(on: socket)
        }
        SimOutput.say("portcullis-sim: the MUD listens on \(host):\(bound)")
        await SimOutput.untilKilled()
    }
}

/// The MUD's server: moves bytes between connections and the MUD's pure core. Reactor thread only.
///
/// It lives as long as the process, because the listener's closure holds it.
private final class MudServer {
    private let reactor: Reactor
    private var mud = DemoMud()
    private var connections: [Int: MudConnection] = [:]
    private var lastID = 0

    init(on reactor: Reactor) {
        self.reactor = reactor
    }

    func listen(on socket: consuming ListeningSocket) {
        _ = TCPListener(socket, on: reactor) { socket, _ in self.accept(socket) }
    }

    private func accept(_ socket: Int32) {
        lastID += 1
        let connection = MudConnection(id: lastID, server: self)
        connections[lastID] = connection
        connection.tcp = TCPConnection.adopt(socket, on: reactor, handler: connection)
        perform(mud.connected(lastID))
    }

    func received(_ bytes: UnsafeRawBufferPointer, from id: Int) {
        perform(mud.received(Array(bytes), from: id))
    }

    func closed(_ id: Int) {
        guard connections.removeValue(forKey: id) != nil else { return }
        perform(mud.disconnected(id))
    }

    private func perform(_ actions: [MudAction]) {
        for action in actions {
            switch action {
            case .send(let bytes, to: let id): send(bytes, to: id)
            case .close(let id): connections.removeValue(forKey: id)?.finish()
            }
        }
    }

    private func send(_ bytes: [UInt8], to id: Int) {
        guard let tcp = connections[id]?.tcp else { return }
        // A player who doesn't read is disconnected, so that the MUD's memory stays bounded.
        guard tcp.queuedBytes < MudConnection.maximumQueuedBytes else { return tcp.drop() }
        bytes.withUnsafeBytes { tcp.send($0) }
    }
}

private final class MudConnection: TCPHandler {
    static let maximumQueuedBytes = 262_144
    private let id: Int
    private let server: MudServer
    var tcp: TCPConnection?

    init(id: Int, server: MudServer) {
        self.id = id
        self.server = server
    }

    /// Queued bytes are still written; the connection waits for the peer's end.
    func finish() {
        tcp?.finish()
    }

    func tcpConnected() {}
    func tcpWrote() {}

    func tcpReceived(_ bytes: UnsafeRawBufferPointer) {
        server.received(bytes, from: id)
    }

    func tcpPeerFinished() {
        tcp?.finish()
    }

    func tcpClosed(error: TCPError?) {
        tcp = nil
        server.closed(id)
    }
}
