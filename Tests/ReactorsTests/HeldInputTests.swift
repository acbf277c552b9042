import Testing
import WebSocketWire

@testable import Reactors

struct HeldInputTests {
    @Test func `held input is bounded`() {
        let piece = DataPiece(range: 0..<10, isText: false, isCompressed: true, isFirst: true, isLast: true)
        var input = [UInt8](repeating: 0, count: HeldInput.maximumBytes - 1)
        var held = input.withUnsafeMutableBytes { HeldInput($0, from: InputPosition(in: piece, after: 4)) }
        var more: [UInt8] = [1, 2, 3, 4, 5]
        let fits = more.withUnsafeMutableBytes { held.append($0) }
        let fitsMore = more.withUnsafeMutableBytes { held.append(.init(rebasing: $0[..<1])) }
        #expect(fits && !fitsMore)
        #expect(held.position.piece?.range == 0..<6 && held.count == HeldInput.maximumBytes + 1)
    }

    /// The input stops once, and what arrives afterwards is held behind it.
    @Test func `the order is kept wherever the input stops and is split`() {
        let input = (0..<24).map(UInt8.init)
        for stop in 0...input.count {
            for split in stop...input.count {
                var front = Array(input[..<split])
                var back = Array(input[split...])
                var held = front.withUnsafeMutableBytes { HeldInput($0, from: InputPosition(stop)) }
                let fits = back.withUnsafeMutableBytes { held.append($0) }
                #expect(fits)
                var seen = Array(input[..<stop])
                // Three bytes at a time.
                while held.process({ bytes, position in
                    let end = min(position.offset + 3, bytes.count)
                    seen += bytes[position.offset..<end]
                    return end < bytes.count ? InputPosition(end) : nil
                }) {}
                #expect(seen == input)
            }
        }
    }

    @Test func `a share is used up by frames, by their content, and anew in each turn`() {
        var share = InputShare()
        var isLeft: [Bool] = []
        for _ in 0...InputShare.unitsPerTurn {
            isLeft.append(share.isLeft(in: 7))
            share.spend(bytes: 0)
        }
        #expect(isLeft == [Bool](repeating: true, count: InputShare.unitsPerTurn) + [false])
        isLeft = [share.isLeft(in: 8)]
        share.spend(bytes: (InputShare.unitsPerTurn - 2) * InputShare.unitBytes)
        isLeft.append(share.isLeft(in: 8))
        share.spend(bytes: InputShare.unitBytes - 1)
        isLeft.append(share.isLeft(in: 8))
        #expect(isLeft == [true, true, false])
    }

    @Test func `frames, records and reads count once each, and octets once`() {
        var cost = InputCost()
        cost.readFrames(100)
        var reports = [cost.report(frames: 3), cost.report(frames: 3)]
        // TLS makes more of them, and inflating too.
        cost.readSocket(180)
        cost.readFrames(50)
        cost.inflated(surplus: 7)
        cost.inflated(surplus: -9)
        reports.append(cost.report(frames: 4))
        #expect(reports.map(\.octets) == [100, 0, 87] && reports.map(\.steps) == [4, 0, 3])
    }
}
