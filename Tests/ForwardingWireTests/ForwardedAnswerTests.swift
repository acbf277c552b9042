import Testing

@testable import ForwardingWire

struct ForwardedAnswerTests {
    private static let head = Array("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n".utf8)

    private static func frame(_ opcode: UInt8, _ payload: Int, masked: Bool = false) -> [UInt8] {
        let length: [UInt8] =
            payload < 126
            ? [UInt8(payload)]
            : payload < 65_536
                ? [126, UInt8(payload >> 8), UInt8(payload & 255)]
                : [127] + stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: payload >> $0) }
        let mask: [UInt8] = masked ? [0x88, 0x88, 0x88, 0x88] : []
        return [0x80 | opcode, length[0] | (masked ? 0x80 : 0)] + length.dropFirst() + mask
            + [UInt8](repeating: 0x88, count: payload)
    }

    @Test func `it releases whole frames only, however the bytes are split`() throws {
        let frames = [Self.frame(1, 0), Self.frame(9, 125), Self.frame(2, 126), Self.frame(1, 3), Self.frame(8, 2)]
        let whole = Self.head + frames.flatMap(\.self)
        var ends: Set<Int> = [0, Self.head.count]
        for frame in frames { ends.insert((ends.max() ?? 0) + frame.count) }
        for cut in 0...whole.count {
            var answer = ForwardedAnswer()
            let first = try answer.take(whole[..<cut])
            #expect(ends.contains(first.count), "\(cut)")
            #expect(first == Array(whole[..<first.count]))
            #expect(answer.hasClosed == (first.count == whole.count))
            #expect(first + (try answer.take(whole[cut...])) == whole)
            #expect(answer.isSwitched && answer.hasClosed && answer.heldBytes == 0)
        }
    }

    @Test func `bytes one by one give the same`() throws {
        let whole = Self.head + Self.frame(1, 300) + Self.frame(8, 0)
        var answer = ForwardedAnswer()
        var released: [UInt8] = []
        for byte in whole { released += try answer.take([byte]) }
        #expect(released == whole)
    }

    @Test func `a refusal passes to its end`() throws {
        let refusal = Array("HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n\r\n{}".utf8)
        for cut in 0...refusal.count {
            var answer = ForwardedAnswer()
            #expect(try answer.take(refusal[..<cut]) + (try answer.take(refusal[cut...])) == refusal)
            #expect(answer.status == 401 && !answer.isSwitched && !answer.hasClosed)
        }
    }

    @Test(arguments: [
        "HTTP/1.0 101 Switching\r\n\r\n", "HTTP/1.1 1O1 Switching\r\n\r\n", "HTTP/1.1 100 Continue\r\n\r\n",
        "ICY 200 OK\r\n\r\n",
        "HTTP/1.1 600 Odd\r\n\r\n", "\r\n\r\n",
    ])
    func `what isn't an answer is refused`(text: String) {
        var answer = ForwardedAnswer()
        #expect(throws: ForwardedAnswer.Fault.malformedHead) { try answer.take(text.utf8) }
        #expect(answer.status == nil)
    }

    @Test func `a header has a limit`() throws {
        let begin = Array("HTTP/1.1 401 Unauthorized\r\nX: ".utf8)
        let padding = ForwardedAnswer.maximumHeadBytes - begin.count - 4
        var answer = ForwardedAnswer()
        let longest = begin + [UInt8](repeating: 65, count: padding) + Array("\r\n\r\n".utf8)
        #expect(try answer.take(longest) == longest)
        var other = ForwardedAnswer()
        let longer = begin + [UInt8](repeating: 65, count: padding + 1) + Array("\r\n\r\n".utf8)
        #expect(throws: ForwardedAnswer.Fault.headTooLong) { try other.take(longer) }
        var endless = ForwardedAnswer()
        _ = try endless.take(longest.dropLast(4))
        #expect(throws: ForwardedAnswer.Fault.headTooLong) { try endless.take([UInt8](repeating: 65, count: 5)) }
    }

    @Test func `a frame has a limit`() throws {
        var answer = ForwardedAnswer()
        _ = try answer.take(Self.head)
        let longest = Self.frame(2, ForwardedAnswer.maximumFrameBytes - 10)
        #expect(try answer.take(longest.dropLast(4)).isEmpty)
        #expect(try answer.take(longest.suffix(4)) == longest)
        #expect(throws: ForwardedAnswer.Fault.frameTooLong) { try answer.take(Self.frame(2, 70_000).dropLast()) }
    }

    @Test func `a walk finds frames of every length, masked or not`() {
        for masked in [false, true] {
            let frames = [0, 1, 125, 126, 65_535, 65_536].map { Self.frame(2, $0, masked: masked) }
            let close = Self.frame(8, 2, masked: masked)
            let whole = frames.flatMap(\.self) + close
            var walk = FrameWalk()
            let progress = walk.advance(whole.span)
            #expect(progress == FrameWalk.Progress(boundary: whole.count, close: whole.count - close.count))
            #expect(walk.isBetweenFrames)
        }
    }

    @Test func `a walk is within a frame until its last byte`() {
        let frame = Self.frame(2, 200, masked: true)
        for cut in 1..<frame.count {
            var walk = FrameWalk()
            let (front, back) = (Array(frame[..<cut]), Array(frame[cut...]))
            let first = walk.advance(front.span)
            #expect(first == FrameWalk.Progress(boundary: nil, close: nil))
            #expect(!walk.isBetweenFrames)
            let second = walk.advance(back.span)
            #expect(second.boundary == frame.count - cut)
        }
    }

    /// A client's frame may claim any length.
    @Test func `a walk survives the largest length`() {
        let header: [UInt8] = [0x82, 0xFF] + [UInt8](repeating: 0xFF, count: 8) + [1, 2, 3, 4]
        var walk = FrameWalk()
        let first = walk.advance(header.span)
        let payload = [UInt8](repeating: 0x88, count: 1_000)
        let second = walk.advance(payload.span)
        #expect(first.boundary == nil && second == FrameWalk.Progress(boundary: nil, close: nil))
    }
}
