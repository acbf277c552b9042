/// What a client must be told again after a resume, even if it was said long ago: the last message of each package, since a gauge shows
/// its last value, and whether the target hides what is typed.
///
/// Bounded: the packages that were silent for longest go first.
struct StateSnapshot: Sendable {
    static let maximumPackages = 64
    /// Of names and payloads together. A message that is larger by itself isn't kept.
    static let maximumBytes = 16_384

    private struct Entry {
        let name: String
        let message: KeptMessage

        var size: Int { name.utf8.count + message.payload.count }
    }

    /// By their numbers.
    private var entries: [Entry] = []
    private(set) var byteCount = 0
    /// nil: the target hasn't said.
    private(set) var echo: KeptMessage?

    var packageCount: Int { entries.count }

    /// - Parameter package: by what the message is known; the last one of each name counts.
    mutating func keep(_ message: KeptMessage, package: String?) {
        if message.kind.isEcho {
            echo = message
        } else if let package {
            keep(Entry(name: package, message: message))
        }
    }

    private mutating func keep(_ entry: Entry) {
        if let older = entries.firstIndex(where: { $0.name == entry.name }) { remove(at: older) }
        guard entry.size <= Self.maximumBytes else { return }
        while entries.count >= Self.maximumPackages || byteCount > Self.maximumBytes - entry.size { remove(at: 0) }
        entries.append(entry)
        byteCount += entry.size
    }

    private mutating func remove(at index: Int) {
        byteCount -= entries.remove(at: index).size
    }

    /// What `replay` doesn't say itself. The packages in the order in which they came, and behind them the echo.
    func messages(notIn replay: Replay) -> [KeptMessage] {
        let packages = entries.map(\.message).filter { $0.seq <= replay.start }
        guard let echo, !replay.messages.contains(where: \.kind.isEcho) else { return packages }
        return packages + [echo]
    }
}
