/// The castle and its players. It identifies players by the number of their connection, and doesn't depend on telnet.
struct World: Sendable {
    enum Event: Hashable, Sendable {
        case line(MudLine, to: Int)
        case room(RoomInfo, to: Int)
        case vitals(Vitals, to: Int)
        /// The player leaves and has been sent a goodbye.
        case quit(Int)
    }

    struct Player: Hashable, Sendable {
        let name: String
        var room = Room.gatehouse
        var vitals = Vitals.full
        /// The player's client, shown by `who`.
        var client = ""
    }

    private(set) var players: [Int: Player] = [:]

    // MARK: Coming and going

    mutating func enter(_ id: Int, name: String) -> [Event] {
        let player = Player(name: name)
        players[id] = player
        return tell(.plain, "Welcome, \(name). Type help if you are new here.", to: [id])
            + tell(.presence, "\(name) comes in under the portcullis.", to: others(of: id)) + arrive(id)
    }

    mutating func leave(_ id: Int) -> [Event] {
        guard let player = players[id] else { return [] }
        let others = others(of: id)
        players[id] = nil
        return tell(.presence, "\(player.name) fades away.", to: others)
    }

    /// Moves the player to another connection, with place and state unchanged.
    mutating func transfer(_ id: Int, to newID: Int) -> [Event] {
        guard let player = players.removeValue(forKey: id) else { return [] }
        players[newID] = player
        return tell(.plain, "You are back, \(player.name).", to: [newID]) + arrive(newID)
    }

    func connection(of name: String) -> Int? {
        players.first { $0.value.name == name }?.key
    }

    mutating func setClient(_ client: String, of id: Int) {
        players[id]?.client = client
    }

    // MARK: Commands

    mutating func perform(_ command: PlayerCommand, by id: Int) -> [Event] {
        guard let player = players[id] else { return [] }
        switch command {
        case .nothing: return []
        case .look: return look(id)
        case .go(nil): return tell(.notice, "Go where?", to: [id])
        case .go(let direction?): return go(direction, id)
        case .say(""): return tell(.notice, "Say what?", to: [id])
        case .say(let words):
            return tell(.speech, "You say, “\(words)”", to: [id])
                + tell(.speech, "\(player.name) says, “\(words)”", to: others(of: id))
        case .emote(""): return tell(.notice, "Do what?", to: [id])
        case .emote(let deed): return tell(.speech, "\(player.name) \(deed)", to: everyone(in: player.room))
        case .who: return who(id)
        case .ring: return ring(id)
        case .drink: return drink(id)
        case .help: return PlayerCommand.helpLines.flatMap { tell(.plain, $0, to: [id]) }
        case .quit: return tell(.plain, "The portcullis lets you out. Farewell!", to: [id]) + [.quit(id)]
        case .unknown(let word): return tell(.notice, "“\(word)” is nothing you can do here. Try help.", to: [id])
        }
    }

    private mutating func go(_ direction: Direction, _ id: Int) -> [Event] {
        guard let player = players[id], let room = player.room.neighbour(direction) else {
            return tell(.notice, "There is no way \(direction.rawValue).", to: [id])
        }
        let left = tell(.presence, "\(player.name) leaves \(direction.rawValue).", to: others(of: id))
        players[id]?.room = room
        players[id]?.vitals.mv = max(0, player.vitals.mv - 1)
        let arrival = "\(player.name) arrives from the \(direction.opposite.rawValue)."
        return left + tell(.presence, arrival, to: others(of: id)) + arrive(id)
    }

    private func ring(_ id: Int) -> [Event] {
        guard let player = players[id], player.room == .belfry else {
            return tell(.notice, "There is no bell here. You have seen a belfry, though.", to: [id])
        }
        let near = "\(player.name) pulls the rope. DONG! The whole tower trembles."
        let far = players.keys.filter { players[$0]?.room != .belfry }.sorted()
        return tell(.speech, near, to: everyone(in: .belfry))
            + tell(.notice, "A great bell rings over the castle: dong!", to: far)
    }

    private mutating func drink(_ id: Int) -> [Event] {
        guard let player = players[id], player.room == .garden else {
            return tell(.notice, "There is nothing to drink here.", to: [id])
        }
        players[id]?.vitals.mv = player.vitals.maxmv
        return tell(.plain, "The water is cold and good. You could walk for miles.", to: [id])
            + tell(.presence, "\(player.name) drinks from the well.", to: others(of: id)) + vitals(id)
    }

    // MARK: What is seen

    private func arrive(_ id: Int) -> [Event] {
        guard let room = players[id]?.room else { return [] }
        return look(id) + [.room(room.info, to: id)] + vitals(id)
    }

    private func look(_ id: Int) -> [Event] {
        guard let room = players[id]?.room else { return [] }
        let exits = room.exits.map(\.direction.rawValue).joined(separator: ", ")
        let people = others(of: id).compactMap { players[$0]?.name }.joined(separator: ", ")
        return tell(.title, room.name, to: [id]) + tell(.plain, room.description, to: [id])
            + tell(.exits, "Ways out: \(exits)", to: [id])
            + (people.isEmpty ? [] : tell(.presence, "Also here: \(people)", to: [id]))
    }

    private func who(_ id: Int) -> [Event] {
        players.values.sorted { $0.name < $1.name }.flatMap { player in
            let client = player.client.isEmpty ? "" : ", with \(player.client)"
            return tell(.plain, "\(player.name), in \(player.room.name)\(client)", to: [id])
        }
    }

    private func vitals(_ id: Int) -> [Event] {
        players[id].map { [.vitals($0.vitals, to: id)] } ?? []
    }

    private func tell(_ style: MudLine.Style, _ text: String, to ids: [Int]) -> [Event] {
        ids.map { .line(MudLine(style, text), to: $0) }
    }

    private func everyone(in room: Room) -> [Int] {
        players.keys.filter { players[$0]?.room == room }.sorted()
    }

    private func others(of id: Int) -> [Int] {
        players[id].map { everyone(in: $0.room).filter { $0 != id } } ?? []
    }
}
