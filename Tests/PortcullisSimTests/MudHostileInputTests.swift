import Telnet
import Testing

@testable import portcullis_sim

@Suite struct MudHostileInputTests {
    private func anna(_ limits: MudLimits = MudLimits()) -> MudStage {
        var stage = MudStage(limits: limits)
        stage.enter(1, as: "Anna")
        return stage
    }

    @Test func `a line at the limit is read and one byte more is not`() {
        var limits = MudLimits()
        limits.maximumLineBytes = 20
        var stage = anna(limits)
        stage.type("say " + String(repeating: "x", count: 16), from: 1)
        #expect(stage.takeText(1) == "You say, “xxxxxxxxxxxxxxxx”\n> ")
        stage.type("say " + String(repeating: "x", count: 17), from: 1)
        #expect(stage.takeText(1) == "That line was too long, and nobody has heard it.\n> ")
        stage.type("say again", from: 1)
        #expect(stage.takeText(1) == "You say, “again”\n> ")
    }

    @Test func `lines at the limit of a read are processed and one more is lost`() {
        for (count, isLost) in [(64, false), (65, true)] {
            var stage = anna()
            stage.send(Array(String(repeating: "say x\n", count: count).utf8), from: 1)
            let text = stage.takeText(1)
            #expect(text.split(separator: "\n").filter { $0.hasPrefix("You say") }.count == 64)
            #expect(text.contains("Not so fast!") == isLost)
        }
    }

    @Test func `the MUD survives an endless line and an endless subnegotiation`() {
        var stage = anna()
        let megabyte = [UInt8](repeating: UInt8(ascii: "a"), count: 1 << 20)
        stage.send(megabyte, from: 1)
        stage.send(Array("\n".utf8) + [IAC, SB, 201] + megabyte, from: 1)
        stage.send(megabyte, from: 1)
        #expect(stage.takeText(1) == "That line was too long, and nobody has heard it.\n> ")
        // The next command ends the unterminated subnegotiation.
        stage.send([IAC, DO, 3] + Array("say hello\r\n".utf8), from: 1)
        #expect(stage.takeText(1) == "You say, “hello”\n> ")
    }

    @Test func `an option storm is answered once per option`() {
        var stage = anna()
        // Without the options that the MUD itself offers, requests or accepts.
        let unknown = (UInt8.min...UInt8.max).filter { ![1, 3, 24, 25, 31, 201].contains($0) }
        let storm = unknown.flatMap { [IAC, WILL, $0, IAC, DO, $0] }
        for _ in 0..<10 { stage.send(storm, from: 1) }
        #expect(stage.takeBytes(1).count == unknown.count * 2 * 3)
    }

    @Test func `line ends of all kinds and erased characters are understood`() {
        var stage = anna()
        stage.send(Array("say a\r\nsay b\r\0say c\nsay d\rsay ex\u{8}\u{7F}é\u{8}f\n".utf8), from: 1)
        let heard = stage.takeText(1).split(separator: "\n").filter { $0.contains("say") }
        #expect(
            heard.map { $0.hasPrefix("> ") ? String($0.dropFirst(2)) : String($0) } == [
                "You say, “a”", "You say, “b”", "You say, “c”", "You say, “d”", "You say, “f”",
            ])
    }

    @Test func `the result doesn't depend on where a session is split`() {
        let session =
            [IAC, DO, 201, IAC, WILL, 31, IAC, SB, 31, 0, 40, 0, IAC, IAC, IAC, SE]
            + Array("Anna\r\nsecret\r\n".utf8) + [IAC, DO, 1] + Array("say “ü”\r\nnorth\r\n".utf8) + gmcp("Core.Ping")
            + Array("quit\r\n".utf8)
        func played(_ pieces: [[UInt8]]) -> String {
            var stage = MudStage()
            stage.connect(1)
            for piece in pieces { stage.send(piece, from: 1) }
            #expect(stage.closed == [1])
            var transcript = Transcript()
            return withoutPrompts(transcript.append(stage.takeBytes(1)))
        }
        let whole = played([session])
        for cut in 1..<session.count {
            #expect(played([Array(session[..<cut]), Array(session[cut...])]) == whole, "cut at \(cut)")
        }
    }

    /// Prompts come at the end of a turn, so they depend on how the input is split.
    private func withoutPrompts(_ text: String) -> String {
        ["By what name are you known? ", "Password (a new name takes any): ", "> ", "\n"].reduce(text) {
            $0.replacing($1, with: "")
        }
    }

    @Test(arguments: 0..<20 as Range<UInt64>)
    func `random bytes do no harm and get bounded answers`(seed: UInt64) {
        var random = SplitMix(state: seed)
        var stage = anna()
        stage.enter(2, as: "Bert")
        let telling: [[UInt8]] = [
            [IAC], [IAC, SB], [IAC, SE], [IAC, DO, 201], [IAC, WILL, 24], [24, 0], [201], Array("say ".utf8),
            Array("n\n".utf8),
            Array("s\r\n".utf8), Array("who\n".utf8), [0xC3], [0xF0, 0x9F], [27, 91], Array("Core.Hello {".utf8),
            [8, 127],
        ]
        for _ in 0..<300 where stage.closed.isEmpty {
            var input: [UInt8] = []
            for _ in 0..<Int.random(in: 1...20, using: &random) {
                input +=
                    Bool.random(using: &random)
                    ? telling.randomElement(using: &random) ?? [] : [UInt8.random(in: 0...255, using: &random)]
            }
            stage.send(input, from: 1)
            #expect(stage.takeBytes(1).count < 64_000)
            #expect(stage.takeBytes(2).count < 64_000)
        }
        stage.type("look", from: 2)
        #expect(stage.takeText(2).contains("The Gatehouse"))
    }
}

/// A reproducible random number generator, so that a failure can be repeated.
struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
