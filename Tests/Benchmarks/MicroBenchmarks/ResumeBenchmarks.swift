import Benchmark

@testable import RelayCore

/// The cost per message of keeping a session resumable.
func resumeBenchmarks() {
    let line = [UInt8](repeating: 0x61, count: 64)
    measure("replay buffer: append 64 bytes, an old message let go", times: .kilo) { _ in
        ReplayBuffer.full(of: line)
    } _: { buffer, _ in
        blackHole(buffer.append(.text, line[...]))
    }
    measure("replay buffer: append 64 bytes, acknowledged at once", times: .kilo) { _ in
        ReplayBuffer(numbering: .messages, maximumBytes: ReplayBuffer.defaultMaximumBytes)
    } _: { buffer, _ in
        buffer.acknowledge(through: buffer.append(.text, line[...]))
    }
    measure("replay buffer: replay all of 50 KiB", times: .one) { _ in
        ReplayBuffer.full(of: line)
    } _: { buffer, _ in
        blackHole(buffer.replay(after: 0))
    }
    measureHistory(line)
}

private func measureHistory(_ line: [UInt8]) {
    let vitals = Array(#"Char.Vitals {"hp":120,"maxhp":140,"mp":33}"#.utf8)
    measure("history: record 64 bytes of text", times: .kilo) { _ in
        SessionHistory(numbering: .messages, maximumBytes: ReplayBuffer.defaultMaximumBytes)
    } _: { history, _ in
        blackHole(history.record(MessageContent(.text, line[...])))
    }
    measure("history: record a package that is known", times: .kilo) { _ in
        SessionHistory(numbering: .messages, maximumBytes: ReplayBuffer.defaultMaximumBytes)
    } _: { history, _ in
        blackHole(history.record(MessageContent(.package, vitals[...], package: "Char.Vitals")))
    }
    let names = (0..<2 * StateSnapshot.maximumPackages).map { "Package.Number\($0)" }
    measure("snapshot: keep a new package, the oldest let go", times: .kilo) { _ in
        StateSnapshot()
    } _: { snapshot, run in
        let message = KeptMessage(kind: .package, seq: UInt64(run), payload: vitals[...])
        snapshot.keep(message, package: names[run % names.count])
    }
}

extension ReplayBuffer {
    fileprivate static func full(of message: [UInt8]) -> ReplayBuffer {
        var buffer = ReplayBuffer(numbering: .messages, maximumBytes: defaultMaximumBytes)
        for _ in 0...defaultMaximumBytes / message.count { _ = buffer.append(.text, message[...]) }
        return buffer
    }
}
