import Testing

@testable import Telnet

@Suite struct CharsetTests {
    private func stage(_ encoding: TextEncoding = .utf8) -> ClientStage {
        var stage = ClientStage { $0.encoding = encoding }
        _ = stage.replies(to: IAC, DO, 42)
        return stage
    }

    @Test func `UTF-8 is chosen wherever it is in the list`() {
        var stage = stage(.latin1)
        #expect(stage.replies(to: subnegotiation(42, 1, ";ISO-8859-1;utf-8")) == subnegotiation(42, 2, "utf-8"))
        #expect(stage.client.encoding == .utf8)
    }

    @Test func `otherwise the target's first choice is used and ASCII is the last`() {
        for (offer, choice, encoding) in [
            (" US-ASCII KOI8-R ISO-8859-1", "KOI8-R", TextEncoding.koi8r), (",BIG5,ISO-8859-1", "ISO-8859-1", .latin1),
            (";US-ASCII;BIG5", "US-ASCII", .ascii),
        ] {
            var stage = stage()
            #expect(stage.replies(to: subnegotiation(42, 1, offer)) == subnegotiation(42, 2, choice))
            #expect(stage.client.encoding == encoding)
        }
    }

    @Test func `unknown character sets are rejected and the setting is unchanged`() {
        var stage = stage(.latin1)
        for offer in [";BIG5;GBK", ";", "", ";;;", "UTF-8"] {
            #expect(stage.replies(to: subnegotiation(42, 1, offer)) == subnegotiation(42, 3), "\(offer)")
        }
        #expect(stage.client.encoding == .latin1)
    }

    @Test func `an offered table is skipped and a table is refused`() {
        var stage = stage()
        #expect(
            stage.replies(to: subnegotiation(42, 1, "[TTABLE ]", 1, ";KOI8-R")) == subnegotiation(42, 2, "KOI8-R"))
        #expect(stage.replies(to: subnegotiation(42, 1, "[TTABLE]", 1, ";LATIN1")) == subnegotiation(42, 2, "LATIN1"))
        #expect(stage.replies(to: subnegotiation(42, 4, 1, ";A;B")) == subnegotiation(42, 5))
        #expect(stage.replies(to: subnegotiation(42, 2, "UTF-8"), subnegotiation(42, 3), subnegotiation(42)) == [])
    }

    @Test func `the choice applies to both directions`() {
        var stage = stage()
        #expect(stage.receive(0xC3, subnegotiation(42, 1, ";KOI8-R"), 0xC3) == [text("Ãц")])
        #expect(stage.input("ж") == [0xD6])
        #expect(stage.receive(subnegotiation(42, 1, ";UTF-8"), "ж") == [text("ж")])
        #expect(stage.input("ж") == Array("ж".utf8))
    }

    @Test func `names above their limits are ignored`() {
        let fillers = String(repeating: ";X", count: Charset.maximumNames - 1)
        #expect(Charset.answer(to: trace(1, fillers, ";UTF-8"))?.encoding == .utf8)
        #expect(Charset.answer(to: trace(1, fillers, ";X;UTF-8"))?.encoding == nil)
        let long = String(repeating: "X", count: Charset.maximumNameBytes + 1)
        #expect(Charset.answer(to: trace(1, ";", long, ";UTF-8"))?.encoding == .utf8)
    }
}
