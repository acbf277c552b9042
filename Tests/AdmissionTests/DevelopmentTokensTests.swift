import KeyStore
import KeyStoreTestKit
import Testing
import WireText

@testable import Admission

@Suite("Development tokens")
struct DevelopmentTokensTests {
    private let device = [UInt8](repeating: 1, count: 32)

    private func text(_ byte: UInt8 = 7) throws -> DevelopmentTokenText {
        try #require(DevelopmentTokenText(random: [UInt8](repeating: byte, count: DevelopmentTokenText.randomBytes)))
    }

    private func token(_ text: DevelopmentTokenText) -> DevelopmentToken {
        DevelopmentToken(
            hash: text.hash, name: "ci", routes: nil, maximumDevices: 1, issuedAt: 0, expiresAt: 1_000)
    }

    @Test func `are accepted as they were issued, and in no other form`() async throws {
        let (store, text) = (MemoryDevelopmentTokens(), try text())
        _ = store.issue(token(text))
        let tokens = DevelopmentTokens(store)
        #expect(try await tokens.redeem(text.text, by: device, at: 1) == .granted(token(text).grant))
        #expect(try tokens.status(ofGrant: token(text).grant.id, at: 1) == .granted(token(text).grant))
        for other in [
            "", "pcdev_", text.text + "0", String(text.text.dropLast()), text.text.uppercased(),
            String(text.text.dropLast()) + "8", " " + text.text.dropFirst(), String(text.text.dropFirst(6)),
        ] {
            #expect(try await tokens.redeem(other, by: device, at: 1) == .refused(.unknown), "\(other)")
        }
    }

    @Test func `need the thumbprint of a key`() async throws {
        let (store, text) = (MemoryDevelopmentTokens(), try text())
        _ = store.issue(token(text))
        for length in [0, 31, 33] {
            let device = [UInt8](repeating: 1, count: length)
            #expect(try await DevelopmentTokens(store).redeem(text.text, by: device, at: 1) == .refused(.unknown))
        }
    }

    @Test func `have 256 random bits and appear in no description`() throws {
        let text = try text(0xAB)
        #expect(text.text == "pcdev_" + String(repeating: "ab", count: 32))
        #expect(DevelopmentTokenText(random: [1, 2, 3]) == nil)
        for description in [
            "\(text)", String(reflecting: text), "\([text])", "\(Mirror(reflecting: text).children.count)",
        ] {
            #expect(!description.contains("ab"), "\(description)")
        }
    }

    @Test func `are identified by a prefix of their hash`() throws {
        let text = try text(0)
        #expect(text.hash.id.text == Hexadecimal.encode(text.hash.bytes.prefix(8)))
        #expect(DevelopmentTokenID(text: text.hash.id.text) == text.hash.id)
        for wrong in ["", "0123", "0123456789ABCDEF", "0123456789abcdeg", "0123456789abcdef0"] {
            #expect(DevelopmentTokenID(text: wrong) == nil)
        }
    }
}
