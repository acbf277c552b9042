import Testing

@testable import RelayCore

struct StateSnapshotTests {
    private let nothing = Replay(gap: nil, start: .max, messages: [])

    private func message(_ seq: UInt64, size: Int = 1) -> KeptMessage {
        KeptMessage(kind: .package, seq: seq, payload: Array(repeating: UInt8(seq % 256), count: size)[...])
    }

    private func echo(_ seq: UInt64, _ kind: KeptMessage.Kind) -> KeptMessage {
        KeptMessage(kind: kind, seq: seq, payload: [])
    }

    @Test func `the last message of each package is kept, in order of arrival`() {
        var snapshot = StateSnapshot()
        for (seq, name) in ["A", "B", "A", "C", "B"].enumerated() {
            snapshot.keep(message(UInt64(seq + 1)), package: name)
        }
        #expect(snapshot.messages(notIn: nothing).map(\.seq) == [3, 4, 5])
    }

    @Test func `above the limit of packages the least recently used one is dropped`() {
        var snapshot = StateSnapshot()
        let limit = UInt64(StateSnapshot.maximumPackages)
        for seq in 1...limit { snapshot.keep(message(seq), package: "P\(seq)") }
        #expect(snapshot.packageCount == Int(limit))
        snapshot.keep(message(limit + 1), package: "P1")
        snapshot.keep(message(limit + 2), package: "new")
        #expect(snapshot.packageCount == Int(limit))
        #expect(snapshot.messages(notIn: nothing).first?.seq == 3)
    }

    @Test func `above the limit of bytes, including names, the oldest is dropped`() {
        let limit = StateSnapshot.maximumBytes
        var snapshot = StateSnapshot()
        snapshot.keep(message(1, size: 9), package: "A")
        snapshot.keep(message(2, size: limit - 11), package: "B")
        #expect(snapshot.byteCount == limit && snapshot.packageCount == 2)
        snapshot.keep(message(3, size: 0), package: "C")
        #expect(snapshot.messages(notIn: nothing).map(\.seq) == [2, 3])
    }

    @Test func `a message of the whole size is kept, and a larger one also removes its predecessor`() {
        let limit = StateSnapshot.maximumBytes
        var snapshot = StateSnapshot()
        snapshot.keep(message(1, size: limit - 1), package: "A")
        #expect(snapshot.byteCount == limit)
        snapshot.keep(message(2, size: limit), package: "A")
        #expect(snapshot.byteCount == 0 && snapshot.messages(notIn: nothing).isEmpty)
    }

    @Test func `the last echo state is kept, too`() {
        var snapshot = StateSnapshot()
        snapshot.keep(echo(1, .echoSuppressed), package: nil)
        snapshot.keep(message(2), package: "A")
        snapshot.keep(echo(3, .echoShown), package: nil)
        #expect(snapshot.messages(notIn: nothing).map(\.kind) == [.package, .echoShown])
    }

    @Test func `state that the replay contains isn't sent before it`() {
        var snapshot = StateSnapshot()
        snapshot.keep(message(1), package: "A")
        snapshot.keep(message(5), package: "B")
        snapshot.keep(echo(6, .echoShown), package: nil)
        let replay = Replay(gap: nil, start: 4, messages: [message(5), echo(6, .echoShown)])
        #expect(snapshot.messages(notIn: replay).map(\.seq) == [1])
    }
}
