import Telnet

/// Commands that can't be carried out yet: the target isn't connected, or hasn't agreed to GMCP or MSDP.
struct WaitingCommands: Sendable {
    /// Consecutive input counts as one command, however many messages it came in.
    static let maximumCount = 64
    /// The limit for names, data and text together.
    static let maximumBytes = 32_768
    /// Above this the client isn't read while its target is being dialled. It leaves room for one more read (a TLS
    /// record).
    static let highWater = 16_384

    private(set) var commands: [ClientCommand] = []
    private var bytes = 0

    var isAboveHighWater: Bool { bytes > Self.highWater }

    /// - Returns: false if there is no room for the command.
    mutating func append(_ command: ClientCommand) -> Bool {
        let size = command.size
        guard size <= Self.maximumBytes - bytes else { return false }
        if !join(command) {
            guard commands.count < Self.maximumCount else { return false }
            commands.append(command.detached)
        }
        bytes += size
        return true
    }

    /// Consecutive input is one stream.
    private mutating func join(_ command: ClientCommand) -> Bool {
        guard case .input(let more, _) = command, case .input(var text, let cid)? = commands.last else { return false }
        commands.removeLast()  // Two owners of the text would make each change a copy.
        text.append(contentsOf: more)
        commands.append(.input(text, cid: cid))
        return true
    }

    mutating func takeAll() -> [ClientCommand] {
        defer { self = WaitingCommands() }
        return commands
    }
}

/// Between two processes only GMCP and MSDP wait: all else waits for a target alone.
extension WaitingCommands: Codable {
    private enum Carried: Codable {
        case gmcp(name: String, data: [UInt8])
        case msdp(name: String, value: MSDPValue)
    }

    init(from decoder: any Decoder) throws {
        for command in try decoder.singleValueContainer().decode([Carried].self) {
            let isTaken =
                switch command {
                case .gmcp(let name, let data): append(.gmcp(name: name, data: data))
                case .msdp(let name, let value): append(.msdp(name: name, value: value))
                }
            guard isTaken else { throw CarriedStateFault() }
        }
    }

    func encode(to encoder: any Encoder) throws {
        let carried = try commands.map { command throws in
            switch command {
            case .gmcp(let name, let data): Carried.gmcp(name: name, data: data)
            case .msdp(let name, let value): Carried.msdp(name: name, value: value)
            default: throw CarriedStateFault()
            }
        }
        var container = encoder.singleValueContainer()
        try container.encode(carried)
    }
}

extension ClientCommand {
    /// The command with its own copy of its bytes: a slice of a message would keep the whole message in memory.
    fileprivate var detached: ClientCommand {
        if case .input(let text, let cid) = self { .input(Array(text)[...], cid: cid) } else { self }
    }

    /// The bytes meant for the target.
    var size: Int {
        switch self {
        case .input(let text, _): text.count
        case .gmcp(let name, let data): name.utf8.count + data.count
        case .msdp(let name, let value): name.utf8.count + value.size
        default: 0
        }
    }
}
