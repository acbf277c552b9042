import Testing

@testable import RelayCore

@Suite struct ReplayBufferTests {
    private func buffer(maximumBytes: Int, _ sizes: [Int]) -> ReplayBuffer<String> {
        var buffer = ReplayBuffer<String>(maximumBytes: maximumBytes)
        for (index, size) in sizes.enumerated() {
            buffer.append("m\(index + 1)", seq: UInt64(index + 1), size: size)
        }
        return buffer
    }

    @Test func zeroAsksForEverything() {
        let replay = buffer(maximumBytes: 10, [3, 3, 4]).replay(after: 0)
        #expect(replay.gap == nil)
        #expect(replay.entries.map(\.message) == ["m1", "m2", "m3"])
    }

    @Test func onlyWhatCameAfterTheLastSeqIsSentAgain() {
        #expect(buffer(maximumBytes: 10, [3, 3, 4]).replay(after: 2).entries.map(\.message) == ["m3"])
        #expect(buffer(maximumBytes: 10, [3, 3, 4]).replay(after: 3).entries.isEmpty)
    }

    @Test func atTheLimitEverythingIsKeptAndOneByteAboveTheOldestGoes() {
        #expect(buffer(maximumBytes: 10, [3, 3, 4]).byteCount == 10)
        let above = buffer(maximumBytes: 10, [3, 3, 5])
        #expect(above.byteCount == 8)
        #expect(above.replay(after: 0).gap == ReplayGap(fromSeq: 1, toSeq: 1, bytes: 3))
    }

    @Test func aGapBeginsBehindWhatTheClientHasSeen() {
        let buffer = buffer(maximumBytes: 4, [3, 3, 4])
        #expect(buffer.replay(after: 1).gap == ReplayGap(fromSeq: 2, toSeq: 2, bytes: 3))
        #expect(buffer.replay(after: 2).gap == nil)
    }

    @Test func aMessageLargerThanTheBufferIsAGapOfItsOwn() {
        let replay = buffer(maximumBytes: 4, [5]).replay(after: 0)
        #expect(replay.gap == ReplayGap(fromSeq: 1, toSeq: 1, bytes: 5))
        #expect(replay.entries.isEmpty)
    }

    @Test func whatWasAcknowledgedIsNeitherKeptNorMissed() {
        var buffer = buffer(maximumBytes: 6, [3, 3, 3, 3])
        buffer.acknowledge(through: 3)
        #expect(buffer.byteCount == 3)
        let replay = buffer.replay(after: 3)
        #expect(replay.gap == nil)
        #expect(replay.entries.map(\.message) == ["m4"])
    }

    @Test func aGapsSizeIsExactForTheLastSizesAndNeverTooSmallBeyond() {
        let limit = ReplayBuffer<String>.maximumEvictedSizes
        let exact = buffer(maximumBytes: 0, Array(repeating: 2, count: limit))
        #expect(exact.replay(after: 1).gap?.bytes == 2 * (limit - 1))
        let beyond = buffer(maximumBytes: 0, Array(repeating: 2, count: limit + 1))
        #expect(beyond.replay(after: 0).gap?.bytes == 2 * (limit + 1))
        #expect(beyond.replay(after: 1).gap?.bytes == 2 * (limit + 1))
        #expect(beyond.replay(after: 2).gap?.bytes == 2 * (limit - 1))
    }

    /// Against a list that forgets nothing.
    @Test(arguments: 0..<20) func aRandomHistoryIsReplayedInOrderOrReportedAsMissing(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var buffer = ReplayBuffer<UInt64>(maximumBytes: 100)
        var sizes: [Int] = []
        for seq in 1...UInt64(300) {
            sizes.append(Int.random(in: 0...20, using: &generator))
            buffer.append(seq, seq: seq, size: sizes.last!)
        }
        for lastSeq in 0...UInt64(300) {
            let replay = buffer.replay(after: lastSeq)
            let missing = replay.gap.map { Array($0.fromSeq...$0.toSeq) } ?? []
            #expect(missing + replay.entries.map(\.message) == (lastSeq < 300 ? Array(lastSeq + 1...300) : []))
            #expect(replay.gap?.bytes ?? 0 == missing.reduce(0) { $0 + sizes[Int($1) - 1] })
        }
    }
}
