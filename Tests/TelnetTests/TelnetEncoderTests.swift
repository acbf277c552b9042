import Telnet
import Testing

@Suite struct TelnetEncoderTests {
    private func text(_ pieces: [[UInt8]]) -> [UInt8] {
        var encoder = TelnetEncoder()
        var output: [UInt8] = []
        for piece in pieces { encoder.appendText(piece, to: &output) }
        return output
    }

    @Test(arguments: [
        ("look\n", trace("look\r\n")),
        ("look\r\n", trace("look\r\n")),
        ("\n\n\r\n", trace("\r\n\r\n\r\n")),
        ("50 %\rdone\n", trace("50 %\r\0done\r\n")),
        ("a\r\rb", trace("a\r\0\r\0b")),
        ("a\r\0b", trace("a\r\0b")),
        ("grüße", trace("grüße")),
        ("", []),
    ])
    func `text is sent as the virtual terminal requires`(text: String, encoded: [UInt8]) {
        #expect(self.text([Array(text.utf8)]) == encoded)
    }

    @Test func `a byte 255 in text is doubled, also after a carriage return`() {
        #expect(text([[65, 255, 13, 255]]) == [65, 255, 255, 13, 0, 255, 255])
    }

    @Test func `the result doesn't depend on how a text is split into calls`() {
        let whole = trace("one\r\ntwo\nthree\rfour\r\0five", IAC, "\r\r\n\n")
        for cut in 0...whole.count {
            #expect(text([Array(whole[..<cut]), Array(whole[cut...])]) == text([whole]), "cut at \(cut)")
        }
        #expect(text(whole.map { [$0] }) == text([whole]))
    }

    private func binary(_ pieces: [[UInt8]]) -> [UInt8] {
        var encoder = TelnetEncoder()
        var output: [UInt8] = []
        for piece in pieces { encoder.appendBinaryText(piece, to: &output) }
        return output
    }

    /// RFC 856: CR LF has no special meaning, and a terminal behind the target treats it as two line ends.
    @Test(arguments: [
        ("look\r\n", trace("look\n")), ("look\n", trace("look\n")), ("look\r", trace("look\r")),
        ("\r\n\r\n", trace("\n\n")), ("a\rb\r\r\nc", trace("a\rb\r\nc")), ("\n\n", trace("\n\n")), ("", []),
    ])
    func `a line has one end while binary is in force`(text: String, encoded: [UInt8]) {
        #expect(binary([Array(text.utf8)]) == encoded)
    }

    @Test func `a line end split between calls is one line end in binary`() {
        #expect(binary([trace("a\r"), trace("\nb")]) == trace("a\rb"))
        #expect(binary([trace("a\r"), [], trace("\nb")]) == trace("a\rb"))
        #expect(binary([trace("a\r"), trace("b"), trace("\n")]) == trace("a\rb\n"))
        #expect(binary([[65, 255, 13, 10, 255]]) == [65, 255, 255, 10, 255, 255])
    }

    @Test func `binary data keeps its line ends and has its IACs doubled`() {
        var output: [UInt8] = []
        TelnetEncoder.appendData([10, 13, 255, 0], to: &output)
        #expect(output == [10, 13, 255, 255, 0])
    }

    @Test func `commands, negotiations and subnegotiations have their form`() {
        var output: [UInt8] = []
        TelnetEncoder.appendCommand(.goAhead, to: &output)
        TelnetEncoder.appendNegotiation(.will, .echo, to: &output)
        TelnetEncoder.appendSubnegotiation(.windowSize, [0, 255, 0, 24], to: &output)
        #expect(output == trace(IAC, GA, IAC, WILL, 1, IAC, SB, 31, 0, IAC, IAC, 0, 24, IAC, SE))
    }

    @Test(arguments: 0..<10 as Range<UInt64>)
    func `encoded data parses to the same data`(seed: UInt64) {
        var random = SeededGenerator(state: seed)
        for _ in 0..<100 {
            let payload = (0..<Int.random(in: 0...40, using: &random)).map { _ in
                Bool.random(using: &random) ? 255 : UInt8.random(in: 0...255, using: &random)
            }
            var output: [UInt8] = []
            TelnetEncoder.appendSubnegotiation(.gmcp, payload, to: &output)
            TelnetEncoder.appendData(payload, to: &output)
            TelnetEncoder.appendCommand(.noOperation, to: &output)
            let data: [TelnetEvent] = payload.isEmpty ? [] : [.data(payload[...])]
            #expect(events(of: [output]) == [.subnegotiation(.gmcp, payload)] + data + [.command(.noOperation)])
        }
    }
}
