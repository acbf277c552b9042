import Telnet
import Testing

@Suite struct TelnetClientTests {
    /// A session with one event of each kind, and those events.
    static let everything =
        trace("Welcome, ", IAC, WILL, 1, "naïve ☃ 🐉\r\n", IAC, WILL, 201, IAC, DO, 24)
        + subnegotiation(24, 1) + trace("caf", 0xE9, " ") + subnegotiation(201, "Room.Info {\"n\":1}")
        + trace(IAC, WILL, 69) + subnegotiation(69, 1, "HP", 2, "10", 1, "EXITS", 2, 3, 1, "n", 2, "é", 4)
        + trace("> ", IAC, GA, IAC, NOP, IAC, IAC, "\r", 0, IAC, WONT, 1, IAC, DO, 31, IAC, DO, 42)
        + subnegotiation(42, 1, ";UTF-8;KOI8-R") + trace(IAC, WILL, 70) + subnegotiation(70, 1, "NAME", 2, "Demo")
        + trace(IAC, WILL, 200) + subnegotiation(200, "Char.Vitals H:1") + trace("\u{1B}[1mé\u{7}", IAC, EOR, "end")
    static let everythingSaid: [TargetEvent] = [
        text("Welcome, "), .echo(isSuppressed: true), text("naïve ☃ 🐉\r\ncafé "),
        .gmcp(name: "Room.Info", data: Array("{\"n\":1}".utf8)), .msdp(name: "HP", value: .string("10")),
        .msdp(name: "EXITS", value: .table([MSDPEntry(name: "n", value: .string("é"))])),
        text("> "), .prompt, text("ÿ\r"), .echo(isSuppressed: false),
        .mssp([MSSPVariable(name: "NAME", values: ["Demo"])]), .atcp(name: "Char.Vitals", text: "H:1"),
        text("\u{1B}[1mé\u{7}"), .prompt, text("end"),
    ]

    @Test func `a session is split into its events in order`() {
        var stage = ClientStage()
        #expect(stage.receive(Self.everything) == Self.everythingSaid)
        #expect(!stage.client.holdsBytes)
        #expect(stage.client.finish() == nil)
    }

    @Test(arguments: MXPMode.allCases)
    func `the result doesn't depend on where the session is split`(mxp: MXPMode) {
        func stage() -> ClientStage {
            ClientStage { $0.mxp = mxp }
        }
        var whole = stage()
        _ = whole.receive(Self.everything)
        let replies = whole.client.takeReplies()
        for cut in 0...Self.everything.count {
            var stage = stage()
            let events =
                stage.events(of: Array(Self.everything[..<cut])) + stage.events(of: Array(Self.everything[cut...]))
            #expect(joined(events) == Self.everythingSaid, "cut at \(cut)")
            #expect(stage.client.takeReplies() == replies, "cut at \(cut)")
        }
        var bytewise = stage()
        #expect(joined(Self.everything.flatMap { bytewise.events(of: [$0]) }) == Self.everythingSaid)
        #expect(bytewise.client.takeReplies() == replies)
    }

    @Test func `the caller can stop after any event and keep the rest`() {
        var client = TelnetClient(settings: TelnetClientSettings())
        var input = trace("one", IAC, GA, "two")[...]
        #expect(client.next(&input, now: 0) == text("one"))
        #expect(client.next(&input, now: 0) == .prompt)
        #expect(Array(input) == Array("two".utf8))
        #expect(client.next(&input, now: 0) == text("two"))
        #expect(client.next(&input, now: 0) == nil)
        #expect(input.isEmpty)
    }

    // MARK: Prompts and echo

    @Test func `a prompt mark comes only after text`() {
        var stage = ClientStage()
        #expect(stage.receive(IAC, GA, IAC, EOR) == [])
        #expect(stage.receive("> ", IAC, GA, IAC, EOR, IAC, GA) == [text("> "), .prompt])
        #expect(stage.receive(IAC, GA, "> ", IAC, EOR) == [text("> "), .prompt])
    }

    @Test func `a prompt doesn't wait for the rest of a character`() {
        var stage = ClientStage()
        #expect(stage.receive("Caf", 0xC3, IAC, GA, "x") == [text("CafÃ"), .prompt, text("x")])
        #expect(stage.events(of: trace(0xE2, 0x98, IAC, EOR)) == [text("â\u{98}"), .prompt])
    }

    @Test func `echo is reported when it changes and not when it is repeated`() {
        var stage = ClientStage()
        #expect(stage.receive(IAC, WILL, 1, IAC, WILL, 1) == [.echo(isSuppressed: true)])
        #expect(stage.receive(IAC, WONT, 1, IAC, WONT, 1) == [.echo(isSuppressed: false)])
        #expect(stage.client.takeReplies() == trace(IAC, DO, 1, IAC, DONT, 1))
    }

    // MARK: Options

    @Test func `the options of MUD clients are accepted and others refused once`() {
        var stage = ClientStage()
        for option in [0, 3, 24, 39, 42] {
            #expect(stage.replies(to: IAC, DO, option) == trace(IAC, WILL, option), "DO \(option)")
        }
        for option in [0, 1, 3, 25, 42, 69, 70] {
            #expect(stage.replies(to: IAC, WILL, option) == trace(IAC, DO, option), "WILL \(option)")
        }
        for option in [1, 5, 25, 34, 69, 86, 91, 253] {
            #expect(stage.replies(to: IAC, DO, option) == trace(IAC, WONT, option), "DO \(option)")
            #expect(stage.replies(to: IAC, DO, option) == [], "DO \(option) again")
        }
        // Without a decompressor, and with MXP refused, as by default.
        for option in [24, 31, 34, 39, 86, 87, 91, 254] {
            #expect(stage.replies(to: IAC, WILL, option) == trace(IAC, DONT, option), "WILL \(option)")
            #expect(stage.replies(to: IAC, WILL, option) == [], "WILL \(option) again")
        }
    }

    @Test func `options that aren't in force are ignored`() {
        var stage = ClientStage()
        for option in [24, 31, 39, 42, 69, 70, 86, 200, 201] {
            #expect(stage.receive(subnegotiation(option, 1, "A", 2, "B")) == [], "\(option)")
        }
        #expect(stage.client.takeReplies() == [])
        #expect(stage.receive("goes on") == [text("goes on")])
    }

    // MARK: Input

    @Test func `input has the line ends of a virtual terminal and its IACs doubled`() {
        var stage = ClientStage()
        #expect(stage.input("look\n") == trace("look\r\n"))
        #expect(stage.input("look\r\n") == trace("look\r\n"))
        #expect(stage.input("a\rb") == trace("a\r", 0, "b"))
        var output: [UInt8] = []
        stage.client.appendInput([255, 65], to: &output)
        #expect(output == [255, 255, 65])
    }

    @Test func `input has one byte per line end while the target requests binary`() {
        var stage = ClientStage()
        _ = stage.receive(IAC, DO, 0)
        var output: [UInt8] = []
        stage.client.appendInput(trace("a\nb\r", 255, "c\r\n")[...], to: &output)
        #expect(output == trace("a\nb\r", IAC, IAC, "c\n"))
        _ = stage.receive(IAC, DONT, 0)
        #expect(stage.input("c\n") == trace("c\r\n"))
    }

    /// я is 255 in windows-1251, which is also telnet's IAC.
    @Test func `a letter whose byte is IAC is doubled and read back`() {
        var stage = ClientStage { $0.encoding = .windows1251 }
        #expect(stage.input("яблоко") == trace(IAC, IAC, [0xE1, 0xEB, 0xEE, 0xEA, 0xEE] as [UInt8]))
        #expect(stage.receive(IAC, IAC, [0xE1] as [UInt8]) == [text("яб")])
    }

    @Test func `input is written in the target's encoding`() {
        var stage = ClientStage { $0.encoding = .latin1 }
        #expect(stage.input("é☃ÿ🐉") == trace(0xE9, "?", IAC, IAC, "?"))
        var output: [UInt8] = []
        for byte in "é☃\n".utf8 { stage.client.appendInput([byte], to: &output) }
        #expect(output == trace(0xE9, "?\r\n"))
    }

    @Test(arguments: [trace(IAC, WILL, 1), trace(IAC, DO, 24), trace(IAC, WILL, 99), trace(IAC, WONT, 1)])
    func `a keep-alive is a NOP, for a target that negotiates`(negotiation: [UInt8]) {
        var stage = ClientStage()
        var output: [UInt8] = [65]
        _ = stage.receive(negotiation)
        stage.client.keepAlive(to: &output)
        #expect(output == trace("A", IAC, NOP))
    }

    /// It may not speak telnet: a letter whose byte is IAC isn't a command.
    @Test(arguments: [[], trace("Welcome"), trace(IAC), trace(IAC, IAC, "a"), trace(IAC, "abc"), trace(IAC, GA)])
    func `a target that negotiates nothing gets no keep-alive`(stream: [UInt8]) {
        var stage = ClientStage()
        var output: [UInt8] = [65]
        _ = stage.receive(stream)
        stage.client.keepAlive(to: &output)
        #expect(output == trace("A"))
        _ = stage.receive(IAC, NOP, IAC, WILL, 1)
        stage.client.keepAlive(to: &output)
        #expect(output == trace("A", IAC, NOP))
    }
}
