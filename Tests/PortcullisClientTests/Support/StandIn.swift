import Crypto
import EdgeTestKit
import Foundation

/// A server that answers as a test wants, also in ways that no honest server does. Each connection is served by a task
/// of its own.
final class StandIn: Sendable {
    struct Request: Sendable {
        let method, target: String
        let headers: [(name: String, value: String)]
        let body: [UInt8]

        subscript(name: String) -> String? { headers.first { $0.name == name.lowercased() }?.value }

        /// A member of a JSON body.
        func member(_ name: String) -> Any? {
            (try? JSONSerialization.jsonObject(with: Data(body)) as? [String: Any])?[name]
        }

        /// Without the query.
        var path: String { String(target.prefix { $0 != "?" }) }
    }

    enum Answer: Sendable {
        case reply(Int, headers: [String: String] = [:], body: String = "")
        /// The bytes as they are; the connection stays open.
        case raw([UInt8])
        /// These bytes, and then the chunk until the client has gone.
        case endless([UInt8], chunk: [UInt8])
        case silence
        case hangUp
        /// A 101, and then a script.
        case webSocket(headers: [String: String] = [:], @Sendable (StandInSocket) async throws -> Void)

        static func json(_ body: String, headers: [String: String] = [:]) -> Answer {
            .reply(200, headers: headers, body: body)
        }
    }

    private let target: TargetServer
    private let log = Awaited<[Request]>([])
    private let accepting: Task<Void, Never>

    var port: Int { target.port }
    var url: String { "http://127.0.0.1:\(port)" }
    var requests: [Request] { log.current }
    /// `GET /path` of each request, in order.
    var lines: [String] { requests.map { "\($0.method) \($0.path)" } }

    init(_ tls: DevCertificates.Identity? = nil, _ answer: @escaping @Sendable (Request) async -> Answer) async throws {
        let target = try await TargetServer.start(tls: tls)
        let log = log
        self.target = target
        accepting = Task {
            await withTaskGroup(of: Void.self) { group in
                var index = 0
                while !Task.isCancelled,
                    let connection = try? await target.connection(index, within: .seconds(3_600))
                {
                    index += 1
                    group.addTask { await Self.serve(connection, log, answer) }
                }
            }
        }
    }

    deinit { accepting.cancel() }

    func request(_ index: Int) async throws -> Request {
        try await log.wait(for: "request \(index)") { $0.count > index ? $0[index] : nil }
    }

    private static func serve(
        _ connection: TargetConnection, _ log: Awaited<[Request]>, _ answer: @Sendable (Request) async -> Answer
    ) async {
        do {
            while true {
                let request = try await read(connection)
                log.update { $0.append(request) }
                try await send(await answer(request), to: request, over: connection)
            }
        } catch {
            await connection.close()
        }
    }

    private static func read(_ connection: TargetConnection) async throws -> Request {
        let end = Array("\r\n\r\n".utf8)
        let length = try await connection.stream.wait(for: "a request", within: .seconds(3_600)) { stream -> Int? in
            if let found = stream.unread.firstRange(of: end) { return found.upperBound - stream.unread.startIndex }
            if stream.isAtEnd { throw EdgeTestError("no request") }
            return nil
        }
        let lines = String(decoding: try await connection.receive(length), as: UTF8.self).components(
            separatedBy: "\r\n")
        let headers = lines.dropFirst().compactMap { line -> (name: String, value: String)? in
            guard let colon = line.firstIndex(of: ":") else { return nil }
            return (line[..<colon].lowercased(), line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces))
        }
        let words = lines[0].split(separator: " ").map(String.init)
        let count = headers.first { $0.name == "content-length" }.flatMap { Int($0.value) } ?? 0
        let body = try await connection.receive(count)
        return Request(method: words[0], target: words.count > 1 ? words[1] : "", headers: headers, body: body)
    }

    private static func send(_ answer: Answer, to request: Request, over connection: TargetConnection) async throws {
        switch answer {
        case .reply(let status, let headers, let body):
            var text = "HTTP/1.1 \(status) Whatever\r\nContent-Length: \(body.utf8.count)\r\n"
            for (name, value) in headers { text += "\(name): \(value)\r\n" }
            try await connection.send(text + "\r\n" + body)
        case .raw(let bytes): try await connection.send(bytes)
        case .endless(let bytes, let chunk):
            try await connection.send(bytes)
            while true { try await connection.send(chunk) }
        case .silence: break
        case .hangUp: throw EdgeTestError("hung up")
        case .webSocket(let headers, let script):
            try await connection.send(upgrade(request, headers))
            try await script(StandInSocket(connection, request))
            throw EdgeTestError("the script is over")
        }
    }

    private static func upgrade(_ request: Request, _ headers: [String: String]) -> String {
        let key = request["Sec-WebSocket-Key"] ?? ""
        let digest = Insecure.SHA1.hash(data: Data((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8))
        var text = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        let fields = ["Sec-WebSocket-Accept": Data(digest).base64EncodedString()].merging(headers) { $1 }
        for (name, value) in fields { text += "\(name): \(value)\r\n" }
        return text + "\r\n"
    }
}

/// The server's end of a WebSocket, for scripts.
struct StandInSocket: Sendable {
    let connection: TargetConnection
    let request: StandIn.Request

    init(_ connection: TargetConnection, _ request: StandIn.Request) {
        (self.connection, self.request) = (connection, request)
    }

    func send(_ frame: WebSocketFrame) async throws { try await connection.send(frame.encoded(mask: nil)) }

    func send(_ text: String) async throws { try await send(.text(text)) }

    /// The next frame of the client, unmasked.
    func frame() async throws -> WebSocketFrame {
        let head = try await connection.receive(2, within: .seconds(60))
        var length = Int(head[1] & 0x7F)
        if length >= 126 {
            length = try await connection.receive(length == 126 ? 2 : 8).reduce(0) { $0 << 8 | Int($1) }
        }
        let mask = try await connection.receive(4)
        let payload = try await connection.receive(length).enumerated().map { $1 ^ mask[$0 & 3] }
        return WebSocketFrame(head[0] & 0xF, payload, isFinal: head[0] & 0x80 != 0)
    }

    /// The next text or binary message; pings are answered.
    func message() async throws -> String {
        while true {
            let frame = try await frame()
            switch frame.opcode {
            case WebSocketFrame.Opcode.ping: try await send(WebSocketFrame(WebSocketFrame.Opcode.pong, frame.payload))
            case WebSocketFrame.Opcode.close: throw EdgeTestError("closed")
            case WebSocketFrame.Opcode.pong: continue
            default: return String(decoding: frame.payload, as: UTF8.self)
            }
        }
    }

    /// Answers pings until the client has gone.
    func idle() async throws {
        while true { _ = try await message() }
    }
}
