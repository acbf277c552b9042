import ArgumentParser
import Testing

@testable import portcullis_sim

/// Tickets and identifiers are base64url: one in 64 begins with a hyphen.
struct DashedTicketTests {
    private static let player = ["account", "--gateway", "https://localhost", "--authenticator", "one"]

    private func parse(_ command: String, _ arguments: String...) throws -> Any {
        var all = Self.player
        all.insert(command, at: 1)
        return try SimCommand.parseAsRoot(all + arguments)
    }

    @Test func `a ticket that begins with a hyphen is read as one`() throws {
        #expect((try parse("recover", "--ticket", "-a_b") as? AccountCommand.Recover)?.ticket == "-a_b")
        #expect((try parse("sign-up", "--ticket", "--help") as? AccountCommand.SignUp)?.ticket == "--help")
    }

    @Test func `identifiers of passkeys that begin with a hyphen, too`() throws {
        #expect((try parse("remove", "--passkey", "-a_b") as? AccountCommand.Remove)?.passkey == "-a_b")
        #expect((try parse("sign-in", "--with", "-a_b") as? AccountCommand.SignIn)?.player.with == "-a_b")
    }
}
