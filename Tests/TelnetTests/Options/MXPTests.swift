import Testing

@testable import Telnet

@Suite struct MXPTests {
    private func stripped(_ text: String) -> String {
        var stripper = MXPStripper()
        let whole = stripper.strip(Array(text.utf8)[...]) + stripper.flush()
        // The text is the same however the input is split.
        var bytewise = MXPStripper()
        let pieces = text.utf8.flatMap { bytewise.strip([$0]) } + bytewise.flush()
        #expect(pieces == whole)
        return String(decoding: whole, as: UTF8.self)
    }

    // MARK: The three modes

    @Test func `pass agrees and changes nothing`() {
        for verb in [WILL, DO] {
            var stage = ClientStage { $0.mxp = .pass }
            #expect(stage.replies(to: IAC, verb, 91) == trace(IAC, verb == WILL ? DO : WILL, 91))
            let markup = "\u{1B}[1z<send>look</send> &lt;"
            #expect(stage.receive(subnegotiation(91), markup) == [text(markup)])
        }
    }

    @Test func `strip agrees and removes the markup while MXP is in force`() {
        var stage = ClientStage { $0.mxp = .strip }
        #expect(stage.receive("<b>") == [text("<b>")])
        #expect(stage.replies(to: IAC, WILL, 91) == trace(IAC, DO, 91))
        #expect(stage.receive(subnegotiation(91), "a <b>bold</b> &amp; more <i") == [text("a bold & more ")])
        // The option ends: unfinished markup becomes text.
        #expect(stage.receive(IAC, WONT, 91, " <b>") == [text("<i <b>")])
    }

    @Test func `refuse refuses`() {
        var stage = ClientStage { $0.mxp = .refuse }
        #expect(stage.replies(to: IAC, WILL, 91) == trace(IAC, DONT, 91))
        #expect(stage.receive("<b>") == [text("<b>")])
    }

    @Test func `a prompt ends an unterminated tag`() {
        var stage = ClientStage { $0.mxp = .strip }
        _ = stage.receive(IAC, WILL, 91)
        #expect(stage.receive("<hp", IAC, GA, ">") == [text("<hp"), .prompt, text(">")])
        #expect(stage.receive("<b") == [])
        #expect(stage.client.finish() == text("<b"))
    }

    // MARK: Tags and entities

    @Test func `tags are removed`() {
        #expect(
            stripped("<b>a</b><SEND href='x>y' hint=\"it's\">b</SEND><!ELEMENT q '<i>'><!-- c > d 'e -->f") == "abf")
        #expect(stripped("one<br>two<BR/>three<brave>") == "one\r\ntwo\r\nthree")
    }

    @Test func `text that is no tag stays`() {
        for text in ["a < b", "<10hp 5mp>", "<", "<-", "<<>", "x <b\r\ny", "<'q'>"] { #expect(stripped(text) == text) }
        #expect(stripped("<b\u{1B}[1m>") == "<b\u{1B}[1m>")
    }

    @Test func `known entities are decoded and others stay`() {
        #expect(stripped("&lt;&gt;&amp;&quot;&apos;&nbsp;&#65;") == "<>&\"' A")
        for text in ["&foo;", "&", "&;", "a & b", "&#27;", "&#300;", "&#x;", "&ltx", "R&D", "&waytoolong;"] {
            #expect(stripped(text) == text)
        }
    }

    @Test func `a tag at the limit is removed and a longer one is text`() {
        let longest = "<b " + String(repeating: "x", count: MXPStripper.maximumTagBytes - 4) + ">"
        #expect(stripped(longest + "!") == "!")
        let longer = "<b x" + longest.dropFirst(3)
        #expect(stripped(longer) == longer)
        let comment = "<!--" + String(repeating: "x", count: MXPStripper.maximumTagBytes - 7) + "-->"
        #expect(stripped(comment + "!") == "!")
        let longerComment = "<!--x" + comment.dropFirst(4)
        #expect(stripped(longerComment) == longerComment)
    }

    // MARK: Line modes

    @Test func `in locked lines markup is text`() {
        #expect(stripped("\u{1B}[2z<b>&lt;\n<b>x") == "<b>&lt;\nx")
        #expect(stripped("\u{1B}[7z<b>\n<b>\u{1B}[1z<b>x\n<b>") == "<b>\n<b>x\n<b>")
        #expect(stripped("\u{1B}[7z<a>\u{1B}[6z<a>\n<a>x") == "<a>\nx")
        #expect(stripped("\u{1B}[7z\u{1B}[3z<a>x\n<a>") == "x\n")
    }

    @Test func `one tag can be opened in a locked line`() {
        #expect(stripped("\u{1B}[7z\u{1B}[4z<b>x<b>") == "x<b>")
        #expect(stripped("\u{1B}[7z\u{1B}[4zx<b>") == "x<b>")
    }

    @Test func `only the sequences of MXP are removed`() {
        for text in ["\u{1B}[1m", "\u{1B}[0;1z", "\u{1B}x", "\u{1B}\u{1B}[", "\u{1B}[12345z", "\u{1B}[1", "\u{1B}"] {
            #expect(stripped(text) == text)
        }
        #expect(stripped("\u{1B}[z\u{1B}[1z\u{1B}[123zx") == "x")
    }
}
