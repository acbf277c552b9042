import Foundation
import Reactors
import Telnet

/// A scripted player on a WebSocket: the telnet end that a raw connection needs, and a readable transcript.
///
/// Reactor thread only, except `run` and the reader of standard input.
final class Play: ClientWebSocketHandler, TimerTarget {
    enum Outcome: Sendable, Equatable {
        /// Closed by us, or by the gateway with 1000 or 1001.
        case played
        /// The gateway closed with another code; nil if there was no code or no Close frame.
        case broken(code: UInt16?)
        case refused(WebSocketClientFailure)
    }

    /// The MUD counts as quiet when it has sent nothing for this time.
    private static let quietNanoseconds: UInt64 = 250_000_000

    private let reactor: Reactor
    private var lines: [String]
    private var mayGetMoreLines: Bool
    private var done: ((Outcome) -> Void)?
    private var client: EdgeClient?
    private var webSocket: ClientWebSocket?
    private lazy var quiet = ReactorTimer(on: reactor)
    private var isQuiet = false
    /// The outcome that `webSocketClosed` reports: a broken connection, unless a Close frame comes first.
    private var ending = Outcome.broken(code: nil)
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
            if !mayGetMoreLines {
                ending = .played
                webSocket.close(code: 1000, reason: "")
            }
            return
        }
        isQuiet = false
        var bytes: [UInt8] = []
        let line = lines.removeFirst()
        // Local echo, as on a terminal: input is shown unless the MUD has taken over the echo for a password.
        SimOutput.say(options.isOn(.echo, .remote) ? "" : line)
        encoder.appendText(Array("\(line)\r\n".utf8), to: &bytes)
        bytes.withUnsafeBytes { webSocket.send($0) }
        waitForQuiet()
    }

    private func waitForQuiet() {
        quiet.arm(at: reactor.now + Self.quietNanoseconds, calling: self)
    }

    // MARK: The WebSocket

    func webSocketOpened(_ webSocket: ClientWebSocket) {
        self.webSocket = webSocket
        waitForQuiet()
    }

    func webSocketReceived(_ piece: MessagePiece) {
        let bytes = [UInt8](piece.bytes)
        SimOutput.show(transcript.append(bytes))
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
        SimOutput.show(transcript.finish())
        ending = Self.outcome(ofClose: code)
        SimOutput.say("\nportcullis-sim: closed by the gateway \(Self.words(forClose: code))")
    }

    static func outcome(ofClose code: UInt16?) -> Outcome {
        code == 1000 || code == 1001 ? .played : .broken(code: code)
    }

    /// libwebsockets treats some valid received codes as invalid and reports 1002 to its client instead.
    static func words(forClose code: UInt16?) -> String {
        switch code {
        case nil: "without a code"
        case 1002?: "with 1002 (perhaps 1012 to 1015: libwebsockets' client reports those as 1002)"
        case .some(let code): "with \(code)"
        }
    }

    func webSocketHeardPong() {}
    func webSocketWrote() {}

    func webSocketClosed() {
        SimOutput.show(transcript.finish())
        webSocket = nil
        finish(ending)
    }
}
