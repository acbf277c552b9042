import Foundation
import Reactors
import Telnet

/// A scripted player on a WebSocket: the telnet end that a raw connection needs, and a transcript for people.
///
/// Reactor thread only, but for `run` and the reader of standard input.
final class Play: WebSocketHandler, TimerTarget {
    enum Outcome: Sendable {
        case played
        case refused(WebSocketClientFailure)
    }

    /// The MUD has fallen quiet when it has sent nothing for so long.
    private static let quietNanoseconds: UInt64 = 250_000_000

    private let reactor: Reactor
    private var lines: [String]
    private var mayGetMoreLines: Bool
    private var done: ((Outcome) -> Void)?
    private var client: EdgeClient?
    private var webSocket: WebSocketConnection?
    private lazy var quiet = ReactorTimer(on: reactor, target: self)
    private var isQuiet = false
    private var parser = TelnetParser()
    private var options = OptionNegotiation(
        acceptingLocal: [], remote: [.echo, .suppressGoAhead, .endOfRecord])
    private var encoder = TelnetEncoder()
    private var transcript = Transcript()

    private init(reactor: Reactor, lines: [String]?, done: @escaping (Outcome) -> Void) {
        self.reactor = reactor
        self.lines = lines ?? []
        mayGetMoreLines = lines == nil
        self.done = done
    }

    /// - Parameter lines: nil reads them from standard input.
    static func run(
        on reactor: Reactor, settings: EdgeClientSettings, headers: [(name: String, value: String)], lines: [String]?
    ) async -> Outcome {
        await withCheckedContinuation { continuation in
            reactor.submit {
                let play = Play(reactor: reactor, lines: lines) { continuation.resume(returning: $0) }
                play.start(settings, headers)
                if lines == nil { readStandardInput(for: Pinned(play, to: reactor)) }
            }
        }
    }

    private func start(_ settings: EdgeClientSettings, _ headers: [(name: String, value: String)]) {
        do throws(ReactorError) {
            let client = try EdgeClient(on: reactor, settings: settings)
            self.client = client
            client.connect(headers: headers, handler: self) { [self] in finish(.refused($0)) }
        } catch {
            finish(.refused(WebSocketClientFailure(reason: "\(error)")))
        }
    }

    private func finish(_ outcome: Outcome) {
        quiet.cancel()
        let done = done
        self.done = nil
        done?(outcome)
    }

    // MARK: Lines

    private static func readStandardInput(for play: Pinned<Play>) {
        Thread.detachNewThread {
            while let line = readLine() {
                play.reactor.submit { play.value.add(line) }
            }
            play.reactor.submit { play.value.add(nil) }
        }
    }

    private func add(_ line: String?) {
        if let line { lines.append(line) } else { mayGetMoreLines = false }
        if isQuiet { sendNextLine() }
    }

    func timerFired(now: UInt64) {
        isQuiet = true
        sendNextLine()
    }

    private func sendNextLine() {
        guard let webSocket else { return }
        guard !lines.isEmpty else {
            if !mayGetMoreLines { webSocket.close(code: 1000, reason: "") }
            return
        }
        isQuiet = false
        var bytes: [UInt8] = []
        let line = lines.removeFirst()
        // As a terminal does: what is typed is seen, unless the MUD has taken the echo over, for a password.
        Console.say(options.isOn(.echo, .remote) ? "" : line)
        encoder.appendText(Array("\(line)\r\n".utf8), to: &bytes)
        bytes.withUnsafeBytes { webSocket.send($0) }
        waitForQuiet()
    }

    private func waitForQuiet() {
        quiet.arm(at: reactor.now + Self.quietNanoseconds)
    }

    // MARK: The WebSocket

    func webSocketOpened(_ webSocket: WebSocketConnection) {
        self.webSocket = webSocket
        waitForQuiet()
    }

    func webSocketReceived(_ piece: MessagePiece) {
        let bytes = [UInt8](piece.bytes)
        Console.show(transcript.append(bytes))
        var replies: [UInt8] = []
        for case .negotiation(let verb, let option) in parser.parse(bytes) {
            guard let reply = options.received(verb, option).reply else { continue }
            TelnetEncoder.appendNegotiation(reply, option, to: &replies)
        }
        replies.withUnsafeBytes { webSocket?.send($0) }
        isQuiet = false
        waitForQuiet()
    }

    func webSocketPeerClosed(code: UInt16?) {
        Console.show(transcript.finish())
        Console.say("\nportcullis-sim: closed by the gateway\(code.map { " with \($0)" } ?? "")")
    }

    func webSocketHeardPong() {}
    func webSocketWrote() {}

    func webSocketClosed() {
        Console.show(transcript.finish())
        webSocket = nil
        finish(.played)
    }
}
