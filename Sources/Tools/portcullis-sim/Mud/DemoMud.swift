/// An action for the owner of the connections.
enum MudAction: Hashable, Sendable {
    case send([UInt8], to: Int)
    /// Close after the output was sent. The MUD no longer knows the connection.
    case close(Int)
}

/// A small telnet MUD for trying out the gateway: bytes in, actions out, no I/O, no clock.
///
/// The owner identifies each connection by a number of its choice, which it may reuse after `close` or
/// ``disconnected(_:)``. The owner must limit idle connections and unread output; all other limits are in
/// ``MudLimits``.
struct DemoMud: Sendable {
    private let limits: MudLimits
    private var sessions: [Int: MudSession] = [:]
    private var world = World()
    private var accounts: Accounts
    /// Connections to be written or closed at the end of the turn, each once, in the order of events.
    private var touched: [Int] = []
    private var closing: Set<Int> = []

    init(limits: MudLimits = MudLimits()) {
        self.limits = limits
        accounts = Accounts(maximumAccounts: limits.maximumAccounts)
    }

    /// A new connection: greets it or refuses it.
    mutating func connected(_ id: Int) -> [MudAction] {
        guard sessions[id] == nil, sessions.count < limits.maximumConnections else {
            return [.send(Array("The castle is full. Come back later.\r\n".utf8), to: id), .close(id)]
        }
        sessions[id] = MudSession(limits: limits)
        touch(id)
        return endTurn()
    }

    mutating func received(_ bytes: [UInt8], from id: Int) -> [MudAction] {
        guard let inputs = sessions[id]?.receive(bytes) else { return [] }
        touch(id)
        for input in inputs.prefix(limits.maximumLinesPerRead) where !closing.contains(id) {
            guard let request = sessions[id]?.handle(input) else { continue }
            handle(request, from: id)
        }
        if inputs.count > limits.maximumLinesPerRead {
            sessions[id]?.print(MudLine(.notice, "Not so fast! Some of your lines were lost."))
        }
        return endTurn()
    }

    /// The connection has ended. Does nothing after a `close`.
    mutating func disconnected(_ id: Int) -> [MudAction] {
        sessions[id] = nil
        deliver(world.leave(id))
        return endTurn()
    }

    // MARK: Requests

    private mutating func handle(_ request: MudSession.Request, from id: Int) {
        switch request {
        case .logIn(let name, let password):
            logIn(id, name: name, password: password)
        case .perform(let command):
            if command == .who { describeClients() }
            deliver(world.perform(command, by: id))
        case .describe:
            guard let player = world.players[id] else { return }
            deliver([.room(player.room.info, to: id), .vitals(player.vitals, to: id)])
        }
    }

    private mutating func describeClients() {
        for id in world.players.keys { world.setClient(sessions[id]?.clientDescription ?? "", of: id) }
    }

    private mutating func logIn(_ id: Int, name: String, password: String) {
        let answer = accounts.check(name: name, password: password)
        guard answer == .created || answer == .matches else {
            if sessions[id]?.refuse(answer) != true { close(id) }
            return
        }
        sessions[id]?.enter()
        // A connection may fail unnoticed; a login with the right password replaces it.
        if let before = world.connection(of: name) {
            deliver([.line(MudLine(.notice, "You go on playing elsewhere."), to: before)])
            deliver(world.transfer(before, to: id))
            close(before)
        } else {
            deliver(world.enter(id, name: name))
        }
    }

    // MARK: The end of a turn

    private mutating func deliver(_ events: [World.Event]) {
        for event in events {
            switch event {
            case .line(let line, let id):
                touch(id)
                sessions[id]?.print(line)
            case .room(let info, let id):
                touch(id)
                sessions[id]?.send(GMCPMessage("Room.Info", info))
            case .vitals(let vitals, let id):
                touch(id)
                sessions[id]?.send(GMCPMessage("Char.Vitals", vitals))
            case .quit(let id):
                deliver(world.leave(id))
                close(id)
            }
        }
    }

    private mutating func touch(_ id: Int) {
        if !touched.contains(id) { touched.append(id) }
    }

    private mutating func close(_ id: Int) {
        touch(id)
        closing.insert(id)
    }

    private mutating func endTurn() -> [MudAction] {
        var actions: [MudAction] = []
        for id in touched {
            let isLast = closing.contains(id)
            if let output = sessions[id]?.takeOutput(isLast: isLast), !output.isEmpty {
                actions.append(.send(output, to: id))
            }
            if isLast {
                sessions[id] = nil
                actions.append(.close(id))
            }
        }
        touched = []
        closing = []
        return actions
    }
}
