/// The rooms of the demo, each a place in a small castle. Raw values are the numbers in `Room.Info`.
enum Room: Int, CaseIterable, Sendable {
    case gatehouse = 1
    case courtyard
    case belfry
    case hall
    case garden

    var name: String {
        switch self {
        case .gatehouse: "The Gatehouse"
        case .courtyard: "The Courtyard"
        case .belfry: "The Belfry"
        case .hall: "The Great Hall"
        case .garden: "The Well Garden"
        }
    }

    var description: String {
        switch self {
        case .gatehouse:
            "Oak and iron: the portcullis hangs above you on its chains, and it has just let you through. "
                + "Swallows nest between the bars."
        case .courtyard:
            "Cobblestones, a handcart, a sleeping cat. From here you see the whole castle: the tower, the hall, and the green of a "
                + "garden behind a low wall."
        case .belfry:
            "The wind comes in through all four windows. A great bronze bell hangs here, its rope worn smooth by many hands. "
                + "You might ring it."
        case .hall:
            "Long tables, a cold fireplace, banners from wars that nobody remembers — a good place to talk."
        case .garden:
            "Thyme, sage and bees. In the middle stands a well with a wooden bucket; the water is clear enough to drink."
        }
    }

    var exits: [(direction: Direction, room: Room)] {
        switch self {
        case .gatehouse: [(.north, .courtyard)]
        case .courtyard: [(.north, .hall), (.east, .garden), (.south, .gatehouse), (.west, .belfry)]
        case .belfry: [(.east, .courtyard)]
        case .hall: [(.south, .courtyard)]
        case .garden: [(.west, .courtyard)]
        }
    }

    func neighbour(_ direction: Direction) -> Room? {
        exits.first { $0.direction == direction }?.room
    }

    var info: RoomInfo {
        let exits = exits.map { ($0.direction.shortName, $0.room.rawValue) }
        return RoomInfo(num: rawValue, name: name, area: "Castle", exits: Dictionary(uniqueKeysWithValues: exits))
    }
}

enum Direction: String, CaseIterable, Sendable {
    case north, east, south, west

    var shortName: String { String(rawValue.prefix(1)) }

    var opposite: Direction {
        switch self {
        case .north: .south
        case .east: .west
        case .south: .north
        case .west: .east
        }
    }

    /// From `n` or `north`.
    init?(word: String) {
        guard let direction = Self.allCases.first(where: { $0.rawValue == word || $0.shortName == word }) else {
            return nil
        }
        self = direction
    }
}
