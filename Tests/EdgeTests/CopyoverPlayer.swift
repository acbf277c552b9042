import Compression
import EdgeTestKit
import Foundation
import WebSocketWire

/// A player whose client comes back when its WebSocket is closed, and that knows every byte that it has to see.
actor CopyoverPlayer {
    enum Dialect: CaseIterable {
        case typed, gmcp, json

        var subprotocol: String? {
            switch self {
            case .typed: nil
            case .gmcp: "gmcp.mudstandards.org"
            case .json: "json.mudstandards.org"
            }
        }
    }

    nonisolated let dialect: Dialect
    nonisolated let edge: Edge
    /// Where it comes back.
    nonisolated private let other: Edge
    private var socket: TestWebSocket
    private var id = "", token = ""
    /// The number of the last message, or the bytes, that the client has seen.
    private var seen = 0
    private(set) var received: [UInt8] = [] {
        didSet { progress.update { [count = received.count] in $0.bytes = count } }
    }
    private(set) var closes: [CloseFrame] = []
    /// For those who wait for it.
    nonisolated let progress = Awaited(Progress())

    struct Progress: Sendable {
        /// From the target.
        var bytes = 0
        /// How often it was sent away and is back.
        var returns = 0
    }

    /// Hints of when to come back.
    private(set) var hints = 0
    private var isOpen = true
    private var lines: [String] = []
    private var acknowledged = 0

    /// - Parameter other: another gateway of the fleet; nil: the same one.
    init(_ dialect: Dialect, at edge: Edge, returningTo other: Edge? = nil) async throws {
        self.dialect = dialect
        self.edge = edge
        self.other = other ?? edge
        socket = try await edge.gateway.open(dialect.subprotocol.map { Handshake().offering($0) } ?? Handshake())
        if dialect == .typed {
            let session = try await TypedSession.connect(socket)
            (id, token) = (session.id, session.token)
        } else {
            try keep(try await socket.nextText())
        }
    }

    private func keep(_ message: String) throws {
        let session = dialect == .gmcp ? try QuerySession(gmcp: message) : try QuerySession(json: message)
        (id, token) = (session.id, session.token)
    }

    // MARK: To the target

    /// A line, which is sent at once or, while the client is away, when it is back.
    func say(_ line: String) {
        lines.append(line)
        if isOpen { post(lines.count) }
    }

    private func post(_ number: Int) {
        let line = lines[number - 1]
        switch dialect {
        case .typed:
            let text = #"{"type":"input","text":"\#(line)\r\n","cid":\#(number)}"#
            socket.connection.post(WebSocketFrame.text(text).encoded())
        case .gmcp, .json:
            socket.connection.post(WebSocketFrame.binary(Array("\(line)\r\n".utf8)).encoded())
            acknowledged = number
        }
    }

    // MARK: From the target

    /// Reads until the target's text ends like this.
    func read(upTo end: String) async throws {
        while !received.suffix(end.utf8.count).elementsEqual(end.utf8) { try await readFrame() }
    }

    /// - Throws: if a minute has passed, also where pings still come.
    func read(atLeast count: Int) async throws {
        let deadline = ContinuousClock.now + .seconds(60)
        while received.count < count {
            try await readFrame()
            guard ContinuousClock.now < deadline else { throw EdgeTestError("\(self.state) of \(count)") }
        }
    }

    private var state: String {
        "\(dialect) \(id): \(lines.count) lines sent, \(acknowledged) acknowledged, sent away \(closes), seen \(seen), received \(received.count)"
    }

    /// Reads on until it has come back as often as this.
    func readPast(closes count: Int) async throws {
        while closes.count < count { try await readFrame() }
    }

    private func readFrame() async throws {
        let frame = try await socket.nextFrame(within: .seconds(60))
        switch frame.opcode {
        case WebSocketFrame.Opcode.ping:
            socket.connection.post(WebSocketFrame(WebSocketFrame.Opcode.pong, frame.payload).encoded())
        case WebSocketFrame.Opcode.pong: break
        case WebSocketFrame.Opcode.close: try await comeBack(after: frame)
        case WebSocketFrame.Opcode.binary:
            received += frame.payload
            seen += frame.payload.count
        default: try take(ReceivedMessage(isText: true, bytes: frame.payload))
        }
    }

    private func take(_ message: ReceivedMessage) throws {
        if message.text.lowercased().contains("draining") { hints += 1 }
        guard dialect == .typed else { return }
        switch message["type"] {
        case "data":
            guard let sequence = message.sequence, let payload = message.payload, sequence == seen + 1 else {
                throw EdgeTestError("after \(seen): \(message.text)")
            }
            seen = sequence
            received += Array(payload.utf8)
        case "inputAck": acknowledged = max(acknowledged, message.fields["cid"] as? Int ?? 0)
        case "draining": break
        default: throw EdgeTestError("unexpected: \(message.text)")
        }
    }

    /// The answer to the Close frame comes behind all that was said.
    private func comeBack(after frame: WebSocketFrame) async throws {
        isOpen = false
        socket.connection.post(WebSocketFrame(WebSocketFrame.Opcode.close, frame.payload).encoded())
        closes.append(try CloseFrame(parsing: frame))
        while try await !resume() {}
        isOpen = true
        progress.update { $0.returns += 1 }
        if acknowledged < lines.count { for number in acknowledged + 1...lines.count { post(number) } }
    }
}

extension CopyoverPlayer {
    /// Loses its connection and resumes the session, wherever it is.
    func vanish() async throws {
        isOpen = false
        await socket.connection.reset()
        while try await !resume() {}
        isOpen = true
    }

    /// - Returns: false if the gateway says that it can't be done at this moment; everything else that isn't the
    ///   session is an error.
    private func resume() async throws -> Bool {
        guard let subprotocol = dialect.subprotocol else { return try await resumeByMessage() }
        let handshake = QuerySession(id: id, token: token).handshake(subprotocol, after: seen)
        let connection = try await RawConnection.open(port: other.gateway.port)
        switch try await TestWebSocket.attempt(handshake, on: connection) {
        case .open(let socket): self.socket = socket
        case .refused(let answer, _):
            guard answer.status == 503 else { throw EdgeTestError("not resumed: \(answer)") }
            return false
        }
        try keep(try await socket.nextText())
        return true
    }

    private func resumeByMessage() async throws -> Bool {
        let socket: TestWebSocket
        switch try await TestWebSocket.attempt(Handshake(), on: RawConnection.open(port: other.gateway.port)) {
        case .open(let open): socket = open
        case .refused(let answer, _):
            guard answer.status == 503 else { throw EdgeTestError("not resumed: \(answer)") }
            return false
        }
        try await socket.send(text: TypedSession(id: id, token: token).message(after: seen))
        let frame = try await socket.nextFrame(within: .seconds(60))
        guard frame.opcode != WebSocketFrame.Opcode.close else {
            guard try CloseFrame(parsing: frame).code == 1012 else { throw EdgeTestError("not resumed: \(frame)") }
            return false
        }
        let answer = ReceivedMessage(isText: true, bytes: frame.payload)
        guard answer["code"] != "rate_limited" else { return false }
        guard answer["type"] == "resumed", let token = answer["token"] else {
            throw EdgeTestError("not resumed: \(answer.text)")
        }
        self.token = token
        self.socket = socket
        return true
    }
}

extension GatewaySettings {
    /// For a minute, as clients of a busy machine need: who answers a Close frame behind its limit loses what it has
    /// sent, since gmcp and json acknowledge no input.
    var waitingForLateCloses: GatewaySettings {
        setting("COPYOVER_READY_MS", 600_000).setting("CLOSE_FLUSH_MS", 60_000)
    }
}

/// What a target sends to one player, compressed (MCCP2) or not.
actor CopyoverTarget {
    nonisolated let connection: TargetConnection
    private let engine: MessageDeflateEngine?

    init(_ connection: TargetConnection, isCompressed: Bool) async throws {
        typealias T = TelnetBytes
        self.connection = connection
        engine = isCompressed ? try MessageDeflateEngine(windowBits: 15, memoryLevel: 8, level: 6) : nil
        guard isCompressed else { return }
        try await connection.send([T.iac, T.will, T.mccp2])
        _ = try await connection.receive(upTo: [T.iac, T.do, T.mccp2])
        try await connection.send(T.subnegotiation(T.mccp2) + [0x78, 0x9C])
    }

    /// Flushed, as MUDs do after each output.
    func send(_ text: String) throws {
        let input = Array(text.utf8)
        guard let engine else { return connection.post(input) }
        var room = [UInt8](repeating: 0, count: MessageDeflateEngine.bound(input.count))
        var span = room.mutableSpan
        let count = try engine.deflate(input.span, into: &span)
        connection.post(Array(room.prefix(count)))
    }
}

/// The process that an upgrade has started. It is killed with its last reference.
final class Successor: Sendable {
    let processID: Int32
    /// What `portcullis upgrade` has printed.
    let report: String

    private init(processID: Int32, report: String) {
        self.processID = processID
        self.report = report
        LivingProcesses.add(processID)
    }

    deinit {
        kill(processID, SIGKILL)
        LivingProcesses.remove(processID)
    }

    static func start(replacing gateway: GatewayProcess, _ arguments: String...) async throws -> Successor {
        let path = gateway.settings["CONTROL_SOCKET_PATH"] ?? ""
        let output = try await GatewayProcess.run(["upgrade", "--socket", path] + arguments)
        guard output.ending == .exited(0), let found = output.outputText.firstMatch(of: /process (\d+)/),
            let id = Int32(found.1)
        else { throw EdgeTestError("no upgrade: \(output)\ngateway: \(gateway.output)") }
        return Successor(processID: id, report: output.outputText)
    }
}
