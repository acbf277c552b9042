import Testing

@testable import portcullis_sim

struct ClientStreamTests {
    @Test func `a message is answered when its last byte has arrived`() {
        let pattern = StreamPattern.bytes(seed: 5)
        var stream = ClientStream(sending: pattern, answer: .echo)
        _ = stream.send(bytes: 10, intended: 1)
        _ = stream.send(bytes: 20, intended: 2)
        var answered: [UInt64] = []
        for position in 0..<30 as Range<UInt64> {
            let faults = pattern.bytes(position..<position + 1).withUnsafeBytes { byte in
                stream.receive(byte) { answered.append($0.intended) }
            }
            #expect(faults.isEmpty)
            #expect(answered == (position < 9 ? [] : position < 29 ? [1] : [1, 2]))
        }
        #expect(stream.outstandingBytes == 0)
        #expect(stream.finish().isEmpty)
    }

    @Test func `bytes that haven't arrived at the end are lost`() {
        let pattern = StreamPattern.bytes(seed: 5)
        var stream = ClientStream(sending: pattern, answer: .echo)
        _ = stream.send(bytes: 100, intended: 1)
        _ = pattern.bytes(0..<60).withUnsafeBytes { stream.receive($0) { _ in } }
        #expect(stream.inFlight == 1)
        #expect(stream.finish() == [.lost(40)])
    }

    @Test func `an ended session loses nothing but still reports wrong bytes`() {
        let pattern = StreamPattern.bytes(seed: 5)
        var stream = ClientStream(sending: pattern, answer: .echo)
        _ = stream.send(bytes: 100, intended: 1)
        _ = pattern.bytes(0..<60).withUnsafeBytes { stream.receive($0) { _ in } }
        var right = stream
        #expect(right.abandon().isEmpty)
        #expect(right.outstandingBytes == 40)
        _ = [UInt8](repeating: 0, count: 8).withUnsafeBytes { stream.receive($0) { _ in } }
        #expect(stream.abandon() == [.corrupt(8)])
    }

    @Test func `a screen answers each line`() {
        var stream = ClientStream(sending: .typed(seed: 8), answer: .screens)
        let lines = (0..<5).map { stream.send(bytes: nil, intended: $0) }
        var target = TargetAnswers(.screens)
        let typed = StreamPattern.typed(seed: 8).bytes(0..<lines[4].range.upperBound)
        let screens = typed.withUnsafeBytes { target.received($0) }
        var answered = 0
        let faults = screens.withUnsafeBytes { bytes in stream.receive(bytes) { _ in answered += 1 } }
        #expect(faults.isEmpty)
        #expect(answered == 5)
        #expect(stream.outstandingBytes == 0)
    }

    @Test func `the number of numbered lines isn't known in advance`() {
        var stream = ClientStream(sending: .text(seed: 8), answer: .numbered)
        var target = TargetAnswers(.numbered)
        for _ in 0..<3 {
            #expect(target.nextLines(1).withUnsafeBytes { bytes in stream.receive(bytes) { _ in } }.isEmpty)
        }
        #expect(stream.finish().isEmpty)
        #expect(stream.verifier.position == 192)
    }

    /// A line applied twice yields an additional screen that belongs to no other line.
    @Test func `an unrequested screen is counted as a duplicate`() {
        var stream = ClientStream(sending: .typed(seed: 8), answer: .screens)
        _ = stream.send(bytes: nil, intended: 0)
        let expected = Screen.bytes(afterLine: 0)
        let screens = StreamPattern.numbered.bytes(0..<expected + 320)
        _ = screens.withUnsafeBytes { stream.receive($0) { _ in } }
        #expect(stream.finish() == [.doubled(320)])
    }

    @Test func `an answer that is reported as lost isn't awaited`() {
        let pattern = StreamPattern.bytes(seed: 5)
        var stream = ClientStream(sending: pattern, answer: .echo)
        _ = stream.send(bytes: 100, intended: 1)
        _ = stream.send(bytes: 50, intended: 2)
        #expect(stream.skip(120).isEmpty)
        #expect(stream.inFlight == 1 && stream.outstandingBytes == 30)
        #expect(stream.skip(40).isEmpty)
        #expect(stream.finish() == [.wrongGap(10)])
    }

    @Test func `unacknowledged messages are sent again and acknowledged ones aren't`() {
        var stream = ClientStream(sending: .typed(seed: 5), answer: .echo)
        let sent = (0..<4).map { stream.sendNumbered(bytes: nil, intended: $0) }
        #expect(stream.toBeSentAgain == sent)
        for number in [1, 3] as [UInt64] { #expect(stream.acknowledged(number) == true) }
        #expect(stream.toBeSentAgain.map(\.number) == [3, 2, 4])
        #expect(stream.acknowledged(2) == true)
        #expect(stream.acknowledged(2) == true)
        #expect(stream.acknowledged(5) == false)
    }

    @Test func `a queue returns its elements in order`() {
        var queue = FIFO<Int>()
        var taken: [Int] = []
        for number in 0..<1_000 {
            queue.append(number)
            if number % 3 != 0, let first = queue.popFirst() { taken.append(first) }
        }
        while let first = queue.popFirst() { taken.append(first) }
        #expect(taken == Array(0..<1_000))
        #expect(queue.count == 0)
    }
}
