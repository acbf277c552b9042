import EdgeTestKit
import Foundation
import WebSocketWire

/// A player of a fleet under faults. He comes back through any gateway, and knows every byte that he has to see: his
/// target repeats what he says.
///
/// A session of a gateway that lives must go on; one of a gateway that was killed may only be reported as expired, in
/// time.
actor FaultPlayer {
    /// From the end of a fault to the answer.
    let patience: Duration
    private let fleet: FaultFleet
    private let device: TestDevice
    private let name: String
    private var socket: TestWebSocket?
    private var (id, token) = ("", "")
    /// Of the gateway that has his session.
    private var life = 0
    private var seen = 0
    private var lines: [String] = []
    private var acknowledged = 0
    private var received: [UInt8] = []
    private var expected: [UInt8] = []
    /// Used to be admitted.
    private var used: [Handshake] = []
    private(set) var (resumed, expired) = (0, 0)

    init(_ name: String, in fleet: FaultFleet, within patience: Duration) async throws {
        (self.name, self.fleet, self.patience) = (name, fleet, patience)
        device = try await fleet.bench.apple.enrolledDevice(at: fleet.gateway(0).process)
    }

    // MARK: Playing

    func begin() async throws {
        let (gateway, open) = try await connect(since: .now)
        (seen, lines, acknowledged, received, expected) = (0, [], 0, [], [])
        let session = try await TypedSession.connect(open)
        (id, token, socket, life) = (session.id, session.token, open, gateway.life)
    }

    /// Says some lines, and reads until all have come back. If the connection is lost he comes back.
    func say(_ count: Int) async throws {
        for _ in 0..<count {
            lines.append("\(name) \(lines.count)")
            expected += Array((lines[lines.count - 1] + "\r\n").utf8)
            if socket != nil { post(lines.count) }
        }
        while received.count < expected.count {
            do { try await readFrame() } catch let violation as FaultViolation { throw violation } catch {
                guard try await comeBack() else { return }
            }
        }
    }

    /// Loses the connection without a word, and comes back through any gateway.
    func roam() async throws {
        await socket?.connection.reset()
        socket = nil
        if try await comeBack() { try await say(2) }
    }

    private func post(_ number: Int) {
        let text = #"{"type":"input","text":"\#(lines[number - 1])\r\n","cid":\#(number)}"#
        socket?.connection.post(WebSocketFrame.text(text).encoded())
    }

    private func readFrame() async throws {
        guard let socket else { throw EdgeTestError("away") }
        let frame = try await socket.nextFrame(within: .seconds(30))
        switch frame.opcode {
        case WebSocketFrame.Opcode.ping:
            socket.connection.post(WebSocketFrame(WebSocketFrame.Opcode.pong, frame.payload).encoded())
        case WebSocketFrame.Opcode.text: try take(ReceivedMessage(isText: true, bytes: frame.payload))
        case WebSocketFrame.Opcode.close: throw EdgeTestError("closed")
        default: break
        }
    }

    private func take(_ message: ReceivedMessage) throws {
        switch message["type"] {
        case "data":
            guard let sequence = message.sequence, let payload = message.payload, sequence == seen + 1 else {
                throw FaultViolation("\(name): after \(seen): \(message.text)")
            }
            seen = sequence
            received += Array(payload.utf8)
            guard expected.starts(with: received) else {
                throw FaultViolation("\(name): \(String(decoding: received.suffix(200), as: UTF8.self))")
            }
        case "inputAck": acknowledged = max(acknowledged, message.fields["cid"] as? Int ?? 0)
        default: break
        }
    }

    // MARK: Coming back

    /// - Returns: false: the session was lost with its gateway, and another one has begun.
    private func comeBack() async throws -> Bool {
        socket = nil
        let start = max(fleet.healed, .now)
        while true {
            let (_, open) = try await connect(since: start)
            try await open.send(text: TypedSession(id: id, token: token).message(after: seen))
            guard let answer = try? await open.nextMessage() else { continue }
            switch (answer["type"], answer["code"]) {
            case ("resumed", _):
                (socket, token) = (open, answer["token"] ?? token)
                resumed += 1
                if acknowledged < lines.count { for number in acknowledged + 1...lines.count { post(number) } }
                return true
            case ("error", "session_expired"?), ("error", "invalid_resume"?):
                guard !fleet.isAlive(life) else {
                    throw FaultViolation("\(name): a session that lives was called lost: \(answer.text)")
                }
                expired += 1
                await open.connection.reset()
                try await begin()
                return false
            default:
                await open.connection.reset()
                try check(since: start, "no answer but \(answer.text)")
                try? await Task.sleep(for: .milliseconds(200))
            }
        }
    }

    private func connect(since start: ContinuousClock.Instant) async throws -> (FaultFleet.Gateway, TestWebSocket) {
        var last = "none"
        while true {
            guard let gateway = fleet.gateways.randomElement() else { throw EdgeTestError("no gateways") }
            do {
                let handshake = try await device.handshake(at: gateway.process)
                switch try await gateway.process.attempt(handshake) {
                case .open(let socket):
                    used.append(handshake)
                    return (gateway, socket)
                case .refused(let answer, _): last = "\(answer)"
                }
            } catch {
                last = "\(error)"
            }
            try check(since: start, "not admitted: \(last)")
            try? await Task.sleep(for: .milliseconds(100))
        }
    }

    private func check(since start: ContinuousClock.Instant, _ what: String) throws {
        guard max(start, fleet.healed).advanced(by: patience) > .now else {
            throw FaultViolation("\(name): \(what)")
        }
    }

    // MARK: Afterwards

    /// Nothing is admitted twice.
    func repeatAll() async throws {
        for handshake in used {
            guard let gateway = fleet.gateways.randomElement() else { return }
            guard case .refused(let answer, _)? = try? await gateway.process.attempt(handshake) else { continue }
            guard answer.status == 401 || answer.status == 503 || answer.status == 429 else {
                throw FaultViolation("\(name): \(answer)")
            }
        }
        used = []
    }
}

/// What no fault excuses.
struct FaultViolation: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
