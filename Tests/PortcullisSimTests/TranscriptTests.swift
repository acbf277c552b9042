import Testing

@testable import portcullis_sim

@Suite struct TranscriptTests {
    private func text(_ pieces: [[UInt8]]) -> String {
        var transcript = Transcript()
        return pieces.map { transcript.append($0) }.joined() + transcript.finish()
    }

    @Test(arguments: [
        ("You see a “cat” 🐈.\r\n> ", "You see a “cat” 🐈.\n> "),
        ("\u{1B}[1;36mThe Hall\u{1B}[0m\r\n", "The Hall\n"),
        ("50 %\r\0100 %\r\rdone", "50 %100 %done"),
        ("a\tb\u{7}c\u{0}", "a\tb\\x07c\\x00"),
        ("\u{1B}]0;owned\u{7}", "\\x1B]0;owned\\x07"),
        ("\u{1B}\u{1B}[2Jx\u{1B}", "\\x1Bx\\x1B"),
        ("\u{1B}[12\u{7}x", "\\x07x"),
        ("\u{1B}[1é", "é"),
        ("\u{9B}2J\u{202E}\u{7F}", "\\u{9B}2J\\u{202E}\\x7F"),
        ("👩\u{200D}🚀", "👩\u{200D}🚀"),
        ("", ""),
    ])
    func `a stream is shown as plain text`(stream: String, shown: String) {
        #expect(text([Array(stream.utf8)]) == shown)
    }

    @Test func `telnet is omitted`() {
        let stream =
            [IAC, WILL, 1] + Array("Pass".utf8) + gmcp("Core.Ping") + Array("word: ".utf8) + [
                IAC, GA, IAC, SB, 201, 65,
            ]
        #expect(text([stream]) == "Password: ")
    }

    @Test(
        arguments: [
            ([0xFF, 0xFF], "\\xFF"), ([0xC3], "\\xC3"), ([0xC3, 0x28], "\\xC3("), ([0xE2, 0x82], "\\xE2\\x82"),
            ([0xE2, 0x82, 0x0A], "\\xE2\\x82\n"), ([0xED, 0xA0, 0x80], "\\xED\\xA0\\x80"),
            ([0xC0, 0xAF], "\\xC0\\xAF"),
            ([0xF0, 0x9F, 0x90, 0x41], "\\xF0\\x9F\\x90A"), ([0x80, 0x41, 0xBF], "\\x80A\\xBF"),
        ] as [([UInt8], String)])
    func `bytes that aren't UTF-8 are escaped`(bytes: [UInt8], shown: String) {
        #expect(text([bytes]) == shown)
    }

    @Test func `the result doesn't depend on where the stream is split`() {
        let stream =
            Array("\u{1B}[1mgrüße 🐈\u{1B}[0m\r\n€\r\0".utf8) + [
                0xE2, 0x82, 0x41, 0xF0, 0x9F, IAC, GA, 0x90, 0x88, 0xC3,
            ]
            + [IAC, IAC] + Array("\u{1B}x\u{202E}\u{1B}".utf8)
        let whole = text([stream])
        #expect(whole == "grüße 🐈\n€\\xE2\\x82A🐈\\xC3\\xFF\\x1Bx\\u{202E}\\x1B")
        for cut in 0...stream.count {
            #expect(text([Array(stream[..<cut]), Array(stream[cut...])]) == whole, "cut at \(cut)")
        }
        #expect(text(stream.map { [$0] }) == whole)
    }

    @Test func `an endless sequence uses no memory`() {
        var transcript = Transcript()
        #expect(transcript.append([0x1B, 0x5B] + [UInt8](repeating: 0x31, count: 100_000)) == "")
        #expect(transcript.append(Array("mx".utf8)) == "x")
    }
}
