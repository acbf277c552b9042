import Telnet
import Testing

@testable import portcullis_sim

@Suite struct MudPlayTests {
    private func annaAndBert() -> MudStage {
        var stage = MudStage()
        stage.enter(1, as: "Anna")
        stage.enter(2, as: "Bert")
        stage.inboxes = [:]
        return stage
    }

    @Test func `two players meet, talk and part`() {
        var stage = MudStage()
        stage.enter(1, as: "Anna")
        stage.enter(2, as: "Bert")
        #expect(stage.takeText(1) == "\nBert comes in under the portcullis.\n> ")
        stage.type("say Grüß dich!", from: 1)
        #expect(stage.takeText(1) == "You say, “Grüß dich!”\n> ")
        #expect(stage.takeText(2) == "\nAnna says, “Grüß dich!”\n> ")
        stage.type(":bows.", from: 2)
        #expect(stage.takeText(1) == "\nBert bows.\n> ")
        #expect(stage.takeText(2) == "Bert bows.\n> ")
        stage.type("north", from: 2)
        #expect(stage.takeText(1) == "\nBert leaves north.\n> ")
        #expect(stage.takeText(2).hasPrefix("The Courtyard\n"))
        stage.type("go n", from: 1)
        #expect(stage.takeText(1).contains("There is no way") == false)
        #expect(stage.takeText(2) == "\nAnna arrives from the south.\n> ")
        stage.type("quit", from: 2)
        #expect(stage.takeText(2) == "The portcullis lets you out. Farewell!\n")
        #expect(stage.closed == [2])
        #expect(stage.takeText(1) == "\nBert fades away.\n> ")
        stage.disconnect(2)
        #expect(stage.takeText(1) == "")
    }

    @Test func `the others see a lost connection`() {
        var stage = annaAndBert()
        stage.disconnect(2)
        #expect(stage.takeText(1) == "\nBert fades away.\n> ")
        stage.send(Array("say still here?\r\n".utf8), from: 2)
        #expect(stage.takeText(1) == "" && stage.takeText(2) == "")
    }

    @Test func `the bell is heard in every room`() {
        var stage = annaAndBert()
        stage.type("ring", from: 1)
        #expect(stage.takeText(1).contains("no bell here"))
        for step in ["n", "w", "ring"] { stage.type(step, from: 1) }
        #expect(stage.takeText(1).hasSuffix("Anna pulls the rope. DONG! The whole tower trembles.\n> "))
        #expect(stage.takeText(2).hasSuffix("A great bell rings over the castle: dong!\n> "))
    }

    @Test func `every exit has a way back`() {
        for room in Room.allCases {
            for exit in room.exits {
                #expect(exit.room.neighbour(exit.direction.opposite) == room)
            }
        }
    }

    @Test func `help, unknown words and missing exits are answered`() {
        var stage = annaAndBert()
        stage.type("help", from: 1)
        #expect(stage.takeText(1) == PlayerCommand.helpLines.joined(separator: "\n") + "\n> ")
        stage.type("dance wildly", from: 1)
        #expect(stage.takeText(1) == "“dance” is nothing you can do here. Try help.\n> ")
        stage.type("west", from: 1)
        #expect(stage.takeText(1) == "There is no way west.\n> ")
        stage.type("", from: 1)
        #expect(stage.takeText(1) == "> ")
        #expect(stage.takeText(2) == "")
    }

    @Test func `a player's text can't control another player's terminal`() {
        var stage = annaAndBert()
        stage.send(Array("say \u{1B}[2J\u{7}\u{9B}2J\u{202E}hi\r\n".utf8), from: 1)
        let bytes = stage.takeBytes(2)
        #expect(String(decoding: bytes, as: UTF8.self).contains("“[2J2Jhi”"))
        #expect(!bytes.contains(7))
    }

    @Test func `colours are sent until the client says that it has none`() {
        var stage = annaAndBert()
        stage.type("look", from: 1)
        #expect(String(decoding: stage.takeBytes(1), as: UTF8.self).hasPrefix("\u{1B}[1;36mThe Gatehouse\u{1B}[0m\r\n"))
        stage.send([IAC, WILL, 24, IAC, SB, 24, 0] + Array("dumb".utf8) + [IAC, SE], from: 1)
        _ = stage.takeBytes(1)
        stage.type("look", from: 1)
        #expect(String(decoding: stage.takeBytes(1), as: UTF8.self).hasPrefix("The Gatehouse\r\n"))
    }
}
