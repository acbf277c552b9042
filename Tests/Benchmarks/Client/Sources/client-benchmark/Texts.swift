import Foundation

/// What the service sends; the measurement compares it with what arrives.
enum Texts {
    /// Lines of a coloured chat, this many bytes in all.
    static func flood(_ count: Int) -> [UInt8] {
        let speakers = ["Rowan", "Ysolde", "Bertram", "Wren"]
        let sayings = [
            "the north gate is open again, and the bridge holds.", "who has the lantern?",
            "“Meet me at the well” — those were her words, and then she left for the old mill on the river.",
            "two coins for a ride to the harbour, three if it rains.",
        ]
        var text: [UInt8] = []
        text.reserveCapacity(count + 256)
        var number = 0
        while text.count < count {
            let (speaker, saying) = (speakers[number % 4], sayings[number / 4 % 4])
            text +=
                "\u{1B}[1;33m[Chat]\u{1B}[0m \u{1B}[36m\(speaker)\u{1B}[0m says: \(saying) \u{1B}[2m#\(number)\u{1B}[0m\r\n"
                .utf8
            number += 1
        }
        // A character that the end would split is replaced, too.
        text.removeLast(text.count - count)
        while let last = text.last, last >= 0x80 { text.removeLast() }
        return text + [UInt8](repeating: UInt8(ascii: "."), count: count - text.count)
    }

    static func tick(_ number: Int) -> [UInt8] { Array("\u{1B}[32mtick \(number)\u{1B}[0m\r\n".utf8) }
}

/// Checks that ticks come in order, each once, however they are split.
struct Ticks {
    private(set) var count = 0
    private(set) var isInOrder = true
    private var expected: [UInt8] = []
    private var position = 0

    /// What comes before the first tick is the service's greeting.
    mutating func take(_ bytes: Data) {
        for byte in bytes {
            if position == expected.count {
                (expected, position) = (Texts.tick(count + 1), 0)
            }
            guard byte == expected[position] else {
                isInOrder = false
                return
            }
            position += 1
            if position == expected.count { count += 1 }
        }
    }
}
