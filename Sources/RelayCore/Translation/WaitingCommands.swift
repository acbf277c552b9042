/// Commands that came before they could be carried out: before the target was connected, or before it agreed to GMCP or MSDP.
struct WaitingCommands: Sendable {
    static let maximumCount = 64
    /// Of names, data and text together.
    static let maximumBytes = 16_384

    private(set) var commands: [ClientCommand] = []
    private var bytes = 0

    var isEmpty: Bool { commands.isEmpty }

    /// - Returns: false if there is no room for it.
    mutating func append(_ command: ClientCommand) -> Bool {
        let size = command.size
        guard commands.count < Self.maximumCount, size <= Self.maximumBytes - bytes else { return false }
        commands.append(command.detached)
        bytes += size
        return true
    }

    mutating func takeAll() -> [ClientCommand] {
        defer { self = WaitingCommands() }
        return commands
    }
}

extension ClientCommand {
    /// What it says in memory of its own: a part of a message would hold all of it.
    fileprivate var detached: ClientCommand {
        if case .input(let text, let cid) = self { .input(Array(text)[...], cid: cid) } else { self }
    }

    fileprivate var size: Int {
        switch self {
        case .input(let text, _): text.count
        case .gmcp(let name, let data): name.utf8.count + data.count
        case .msdp(let name, let value): name.utf8.count + value.size
        default: 0
        }
    }
}
