import Telnet
import Testing

@testable import portcullis_sim

@Suite struct MudLoginTests {
    @Test func `the MUD speaks first, offers its options and asks for a name`() {
        var stage = MudStage()
        stage.connect(1)
        let bytes = stage.takeBytes(1)
        #expect(bytes.starts(with: [IAC, WILL, 25, IAC, WILL, 201, IAC, DO, 31, IAC, DO, 24]))
        #expect(bytes.suffix(2) == [IAC, GA])
        #expect(
            String(decoding: bytes.dropFirst(12).dropLast(2), as: UTF8.self).hasSuffix("By what name are you known? "))
    }

    @Test func `the password prompt turns echo off and on again`() {
        var stage = MudStage()
        stage.connect(1)
        _ = stage.takeBytes(1)
        stage.type("anna", from: 1)
        #expect(stage.takeBytes(1).starts(with: [IAC, WILL, 1]))
        stage.send([IAC, DO, 1], from: 1)
        #expect(stage.takeBytes(1) == [])
        stage.type("secret", from: 1)
        let bytes = stage.takeBytes(1)
        #expect(bytes.starts(with: Array("\r\n".utf8) + [IAC, WONT, 1]))
        #expect(String(decoding: bytes, as: UTF8.self).contains("Welcome, Anna."))
        #expect(!String(decoding: bytes, as: UTF8.self).contains("secret"))
        stage.send([IAC, DONT, 1], from: 1)
        #expect(stage.takeBytes(1) == [])
    }

    @Test func `a name keeps its password, and guessing ends the connection`() {
        var stage = MudStage()
        stage.enter(1, as: "Anna", password: "first")
        stage.type("quit", from: 1)
        #expect(stage.closed == [1])
        stage.connect(2)
        stage.type("ANNA", from: 2)
        for attempt in 1...3 {
            #expect(!stage.closed.contains(2))
            _ = stage.takeText(2)
            stage.type("guess \(attempt)", from: 2)
        }
        #expect(stage.closed.contains(2))
        #expect(stage.takeText(2).hasSuffix("That was wrong once too often.\n"))
        stage.enter(3, as: "anna", password: "first")
        stage.type("who", from: 3)
        #expect(stage.takeText(3).contains("Anna, in The Gatehouse\n"))
    }

    @Test func `the correct password takes over a connection that still plays`() {
        var stage = MudStage()
        stage.enter(1, as: "Anna")
        stage.type("n", from: 1)
        _ = stage.takeText(1)
        stage.enter(2, as: "Anna")
        #expect(stage.closed == [1])
        #expect(stage.takeText(1) == "\nYou go on playing elsewhere.\n")
        // The end of the old connection doesn't end the player's session.
        stage.disconnect(1)
        stage.type("look", from: 2)
        #expect(stage.takeText(2).hasPrefix("The Courtyard\n"))
    }

    @Test(arguments: [
        ("A", false), ("Ab", true), ("Abcdefghijklmnop", true), ("Abcdefghijklmnopq", false), ("Änna", false),
        ("An na", false), ("Ann1", false), ("", false), ("  Anna ", true),
    ])
    func `a name has 2 to 16 letters`(name: String, isAccepted: Bool) {
        var stage = MudStage()
        stage.connect(1)
        _ = stage.takeText(1)
        stage.type(name, from: 1)
        #expect(stage.takeText(1).contains("Password") == isAccepted)
    }

    @Test(arguments: [(0, false), (1, true), (128, true), (129, false)])
    func `a password has 1 to 128 bytes`(length: Int, isAccepted: Bool) {
        var stage = MudStage()
        stage.connect(1)
        stage.type("Anna", from: 1)
        _ = stage.takeText(1)
        stage.type(String(repeating: "x", count: length), from: 1)
        #expect(stage.takeText(1).contains("Welcome") == isAccepted)
    }

    @Test func `one name above the limit is refused and known names are admitted`() {
        var limits = MudLimits()
        limits.maximumAccounts = 2
        var stage = MudStage(limits: limits)
        stage.enter(1, as: "Anna")
        stage.enter(2, as: "Bert")
        stage.connect(3)
        stage.type("Carl", from: 3)
        stage.type("secret", from: 3)
        #expect(stage.closed == [3])
        stage.type("quit", from: 1)
        stage.enter(4, as: "Anna")
        #expect(!stage.closed.contains(4))
    }

    @Test func `one connection above the limit is refused`() {
        var limits = MudLimits()
        limits.maximumConnections = 2
        var stage = MudStage(limits: limits)
        for id in 1...3 { stage.connect(id) }
        #expect(stage.closed == [3])
        #expect(stage.takeText(3) == "The castle is full. Come back later.\n")
        stage.disconnect(1)
        stage.connect(4)
        #expect(stage.closed == [3])
    }

    @Test func `passwords differ by name and by each byte`() {
        var accounts = Accounts(maximumAccounts: 10)
        #expect(accounts.check(name: "Anna", password: "secret") == .created)
        #expect(accounts.check(name: "Anna", password: "secret") == .matches)
        #expect(accounts.check(name: "Anna", password: "secre") == .wrongPassword)
        #expect(accounts.check(name: "Anna", password: "Secret") == .wrongPassword)
        #expect(accounts.check(name: "Annas", password: "ecret") == .created)
        #expect(!String(reflecting: accounts).contains("secret"))
    }
}
