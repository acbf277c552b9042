import Testing

@testable import portcullis_sim

struct ServerFramesTests {
    private enum Heard: Equatable {
        case data([UInt8], isLast: Bool)
        case ping([UInt8])
        case close(UInt16?)
    }

    /// - Parameter pieces: one for each read. Data of the same message is joined.
    private static func hear(_ pieces: [[UInt8]]) -> (heard: [Heard], isValid: Bool) {
        var frames = ServerFrames()
        var heard: [Heard] = []
        var message: [UInt8] = []
        let isValid = pieces.allSatisfy { piece in
            piece.withUnsafeBytes { bytes in
                frames.receive(bytes) { event in
                    switch event {
                    case .data(let bytes, let isLast):
                        message += bytes
                        if isLast {
                            heard.append(.data(message, isLast: true))
                            message = []
                        }
                    case .ping(let payload): heard.append(.ping(payload))
                    case .close(let code): heard.append(.close(code))
                    }
                }
            }
        }
        return (heard, isValid)
    }

    private static let long = [UInt8](repeating: 7, count: 300)
    private static let stream: [UInt8] =
        [0x82, 3, 1, 2, 3, 0x89, 2, 8, 9, 0x01, 1, 65, 0x80, 1, 66, 0x82, 0, 0x82, 126, 1, 44] + long
        + [0x8A, 1, 0, 0x88, 4, 0x03, 0xE9, 66, 66]
    private static let meaning: [Heard] = [
        .data([1, 2, 3], isLast: true), .ping([8, 9]), .data([65, 66], isLast: true), .data([], isLast: true),
        .data(long, isLast: true), .close(1001),
    ]

    @Test func `frames are read the same however they are split`() {
        #expect(Self.hear([Self.stream]).heard == Self.meaning)
        for split in 1..<Self.stream.count {
            let (heard, isValid) = Self.hear([Array(Self.stream[..<split]), Array(Self.stream[split...])])
            #expect(isValid && heard == Self.meaning, "split at \(split)")
        }
        #expect(Self.hear(Self.stream.map { [$0] }).heard == Self.meaning)
    }

    @Test(arguments: [[0x82, 0x81], [0xC2, 0], [0x83, 0], [0x89, 126], [0x09, 0]] as [[UInt8]])
    func `frames that no server may send are reported`(bytes: [UInt8]) {
        #expect(!Self.hear([bytes]).isValid)
    }

    @Test func `a Close frame without a code has none`() {
        #expect(Self.hear([[0x88, 0]]).heard == [.close(nil)])
    }

    @Test(arguments: [0, 1, 7, 8, 125, 126, 65_535, 65_536])
    func `a client's frame is masked and has the length of RFC 6455`(count: Int) {
        let payload = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
        var frame = [UInt8](repeating: 0, count: count + ClientFrame.maximumHeadBytes)
        let length = payload.withUnsafeBytes { payload in
            frame.withUnsafeMutableBytes { ClientFrame.write(payload, opcode: 2, mask: 0x0403_0201, to: $0) }
        }
        let headBytes = (count < 126 ? 2 : count < 65_536 ? 4 : 10) + 4
        #expect(length == headBytes + count && frame[0] == 0x82 && frame[1] & 0x80 != 0)
        #expect(Array(frame[headBytes - 4..<headBytes]) == [1, 2, 3, 4])
        let plain = (0..<count).map { frame[headBytes + $0] ^ UInt8($0 % 4 + 1) }
        #expect(plain == payload)
    }

    @Test func `only the right answer to RFC 6455's example key is accepted`() {
        let request = UpgradeText(
            authority: "localhost:1", path: "/", subprotocols: [], headers: [("X-A", "b")],
            nonce: Array("the sample nonce".utf8))
        let text = String(decoding: request.bytes, as: UTF8.self)
        #expect(text.contains("Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n") && text.contains("X-A: b\r\n"))
        let answer = "HTTP/1.1 101 Switching Protocols\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n"
        #expect(request.refusal(in: answer) == nil)
        #expect(request.refusal(in: answer.replacing("s3p", with: "S3p")) == .notConnected)
        #expect(
            request.refusal(in: "HTTP/1.1 401 Unauthorized\r\nX-Refusal-Code: no_credentials\r\n\r\n")
                == .refused(status: 401, code: "no_credentials"))
        #expect(UpgradeText.endOfHead(in: Array("a\r\n\r\nb".utf8)) == 5)
    }
}
