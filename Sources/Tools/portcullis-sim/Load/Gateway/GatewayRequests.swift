import DeviceSimulation
import Foundation
import Reactors

/// Challenges, registrations, tokens and authorization requests over a few keep-alive connections, like apps' HTTP
/// stacks. Reactor thread only.
///
/// Each connection has its own source address, because the gateway counts requests by address.
final class GatewayRequests {
    typealias Answered = (Result<HTTPAnswerParser.Answer, ErrorKind>) -> Void

    static let maximumConnections = 16

    private struct Request {
        let bytes: [UInt8]
        let failure: ErrorKind
        let done: Answered
        var hasBeenTried = false
    }

    private let reactor: Reactor
    private let settings: EdgeClientSettings
    private let sources: [String?]
    private let tls: TargetTLS?
    private var waiting = FIFO<Int>()
    private var requests: [Int: Request] = [:]
    private var lastRequest = 0
    private var idle: [GatewayConnection] = []
    private var open = 0
    private var opened = 0

    /// - Parameter sources: one for each connection.
    init(on reactor: Reactor, settings: EdgeClientSettings, sources: [String?]) throws {
        self.reactor = reactor
        self.settings = settings
        self.sources = sources
        tls = settings.isTLS ? try TargetTLS(TargetTLSSettings(mode: .required, caPath: settings.caPath)) : nil
    }

    func challenge(_ done: @escaping (Result<String, ErrorKind>) -> Void) {
        request("GET", "/attest/challenge", body: [], failure: .noChallenge) { result in
            done(
                result.flatMap { answer in
                    guard answer.status == 200,
                        let fields = try? JSONDecoder().decode([String: String].self, from: Data(answer.body)),
                        let nonce = fields["nonce"]
                    else { return .failure(.refused(status: answer.status, code: "challenge")) }
                    return .success(nonce)
                })
        }
    }

    func register(keyID: String, attestation: [UInt8], nonce: String, _ done: @escaping (ErrorKind?) -> Void) {
        let fields = ["keyId": keyID, "attestation": Data(attestation).base64EncodedString(), "nonce": nonce]
        let body = (try? JSONEncoder().encode(fields)).map { [UInt8]($0) } ?? []
        request("POST", "/attest/register", body: body, failure: .notRegistered) { result in
            switch result {
            case .failure(let kind): done(kind)
            case .success(let answer):
                done(answer.status == 200 ? nil : .refused(status: answer.status, code: "register"))
            }
        }
    }

    /// A challenge of the token dialect.
    func tokenChallenge(_ done: @escaping (Result<String, ErrorKind>) -> Void) {
        let body = Array(#"{"purpose":"token"}"#.utf8)
        request("POST", "/attest/challenge", body: body, failure: .noChallenge) { result in
            done(
                result.flatMap { answer in
                    guard answer.status == 200, let challenge = try? ChallengeAnswer(answer.body) else {
                        return .failure(.refused(status: answer.status, code: "challenge"))
                    }
                    return .success(challenge.nonce)
                })
        }
    }

    /// A challenge of requests that are signed one by one; the first one of a device.
    func signedChallenge(_ done: @escaping (Result<String, ErrorKind>) -> Void) {
        request("GET", "/challenge", body: [], failure: .noChallenge) { result in
            done(
                result.flatMap { answer in
                    guard answer.status == 200,
                        let fields = try? JSONDecoder().decode([String: String].self, from: Data(answer.body)),
                        let challenge = fields["challenge"]
                    else { return .failure(.refused(status: answer.status, code: "challenge")) }
                    return .success(challenge)
                })
        }
    }

    func request(
        _ method: String, _ path: String, headers: LoadDevices.Headers = [], body: [UInt8], failure: ErrorKind,
        _ done: @escaping Answered
    ) {
        let fields = headers.map { "\($0.name): \($0.value)\r\n" }.joined()
        let head = """
            \(method) \(path) HTTP/1.1\r\nHost: \(settings.host):\(settings.port)\r\n\(fields)\
            \(body.isEmpty ? "" : "Content-Type: application/json\r\nContent-Length: \(body.count)\r\n")\r\n
            """
        lastRequest += 1
        requests[lastRequest] = Request(bytes: Array(head.utf8) + body, failure: failure, done: done)
        waiting.append(lastRequest)
        serve()
    }

    private func serve() {
        while waiting.first != nil {
            if let connection = idle.popLast() {
                guard let number = waiting.popFirst(), let request = requests[number] else { return }
                connection.send(request.bytes, number: number)
            } else if open < sources.count {
                open += 1
                opened += 1
                let connection = GatewayConnection(owner: self)
                connection.dial(settings, from: sources[opened % sources.count], tls: tls, on: reactor)
            } else {
                return
            }
        }
    }

    // MARK: From the connections

    func isReady(_ connection: GatewayConnection) {
        idle.append(connection)
        serve()
    }

    func answered(_ number: Int, _ answer: HTTPAnswerParser.Answer) {
        requests.removeValue(forKey: number)?.done(.success(answer))
    }

    /// A connection that the gateway closed meanwhile is not an error: its request is retried once.
    func ended(_ connection: GatewayConnection, unanswered number: Int?, hasOpened: Bool) {
        open -= 1
        idle.removeAll { $0 === connection }
        if let number, var request = requests[number] {
            if request.hasBeenTried {
                requests[number] = nil
                request.done(.failure(request.failure))
            } else {
                request.hasBeenTried = true
                requests[number] = request
                waiting.append(number)
            }
        } else if !hasOpened, open == 0, let number = waiting.popFirst(),
            let request = requests.removeValue(forKey: number)
        {
            // The gateway doesn't answer at all: each attempt fails one request.
            request.done(.failure(request.failure))
        }
        serve()
    }
}

/// One of the connections of ``GatewayRequests``.
final class GatewayConnection: TCPHandler {
    private let owner: GatewayRequests
    private var connection: TargetConnection?
    private var parser = HTTPAnswerParser()
    private var number: Int?
    private var hasOpened = false

    init(owner: GatewayRequests) {
        self.owner = owner
    }

    func dial(_ settings: EdgeClientSettings, from source: String?, tls: TargetTLS?, on reactor: Reactor) {
        var options = DialOptions(timeoutMilliseconds: 10_000)
        options.source = source
        connection = TargetConnection.dial(
            host: settings.host, port: settings.port, options: options, tls: tls, on: reactor, handler: self)
    }

    func send(_ bytes: [UInt8], number: Int) {
        self.number = number
        bytes.withUnsafeBytes { connection?.send($0) }
    }

    func tcpConnected() {
        hasOpened = true
        owner.isReady(self)
    }

    func tcpReceived(_ bytes: UnsafeRawBufferPointer) {
        parser.append(bytes)
        do throws(HTTPAnswerParser.Failure) {
            guard let answer = try parser.next(), let number else { return }
            self.number = nil
            owner.answered(number, answer)
            if answer.isLast { connection?.drop() } else { owner.isReady(self) }
        } catch {
            connection?.drop()
        }
    }

    func tcpPeerFinished() {
        connection?.drop()
    }

    func tcpWrote() {}

    func tcpClosed(error: TCPError?) {
        connection = nil
        owner.ended(self, unanswered: number, hasOpened: hasOpened)
    }
}
