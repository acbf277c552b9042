import Telnet

@testable import portcullis_sim

/// The MUD and its clients: delivers actions to the right client and stores the received bytes.
struct MudStage {
    var mud: DemoMud
    /// Received bytes of each client that haven't been read.
    var inboxes: [Int: [UInt8]] = [:]
    var closed: Set<Int> = []

    init(limits: MudLimits = MudLimits()) {
        mud = DemoMud(limits: limits)
    }

    mutating func connect(_ id: Int) {
        closed.remove(id)
        perform(mud.connected(id))
    }

    mutating func send(_ bytes: [UInt8], from id: Int) {
        perform(mud.received(bytes, from: id))
    }

    mutating func type(_ line: String, from id: Int) {
        send(Array((line + "\r\n").utf8), from: id)
    }

    mutating func disconnect(_ id: Int) {
        perform(mud.disconnected(id))
    }

    /// Connects, logs in and discards the greetings.
    mutating func enter(_ id: Int, as name: String, password: String = "secret") {
        connect(id)
        type(name, from: id)
        type(password, from: id)
        inboxes[id] = []
    }

    mutating func takeBytes(_ id: Int) -> [UInt8] {
        defer { inboxes[id] = [] }
        return inboxes[id] ?? []
    }

    mutating func takeEvents(_ id: Int) -> [TelnetEvent] {
        var parser = TelnetParser()
        return parser.parse(takeBytes(id))
    }

    /// The text without colours.
    mutating func takeText(_ id: Int) -> String {
        var transcript = Transcript()
        return transcript.append(takeBytes(id)) + transcript.finish()
    }

    private mutating func perform(_ actions: [MudAction]) {
        for action in actions {
            switch action {
            case .send(let bytes, let id): inboxes[id, default: []] += bytes
            case .close(let id): closed.insert(id)
            }
        }
    }
}

// The names are those of RFC 854.
// swift-format-ignore: AlwaysUseLowerCamelCase
let (IAC, DONT, DO, WONT, WILL, SB, GA, SE, EOR) = (
    UInt8(255), UInt8(254), UInt8(253), UInt8(252), UInt8(251), UInt8(250), UInt8(249), UInt8(240), UInt8(239)
)

func gmcp(_ text: String) -> [UInt8] {
    [IAC, SB, 201] + Array(text.utf8) + [IAC, SE]
}
