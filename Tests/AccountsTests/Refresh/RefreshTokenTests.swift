import KeyStore
import Testing

@testable import Accounts

@Suite("The text of a refresh token")
struct RefreshTokenTests {
    @Test func `has a form of its own, with its family's name`() throws {
        let token = RefreshToken()
        #expect(token.text.utf8.count == 64 && token.text.utf8.count <= RefreshLimits.maximumTokenBytes)
        #expect(RefreshToken(text: token.text) == token)
        for text in ["", "A", token.text + "A", String(token.text.dropLast()), token.text + "=", " " + token.text] {
            #expect(RefreshToken(text: text) == nil, "\(text)")
        }
        #expect(!"\(token)".contains(token.text))
    }

    @Test func `opens its successor alone, and only as it was sealed`() throws {
        let token = RefreshToken()
        let (successor, other) = (RefreshToken(of: token.family), RefreshToken(of: token.family))
        let sealed = token.seal(successor)
        #expect(sealed.count <= RefreshLimits.maximumSealedBytes)
        #expect(token.open(sealed) == successor && successor.family == token.family)
        #expect(other.open(sealed) == nil && successor.open(sealed) == nil)
        for index in sealed.indices {
            var changed = sealed
            changed[index] ^= 1
            #expect(token.open(changed) == nil, "byte \(index)")
        }
        for count in 0..<sealed.count { #expect(token.open(Array(sealed.prefix(count))) == nil) }
    }

    @Test func `is known by a hash that differs for each`() {
        let tokens = (0..<100).map { _ in RefreshToken() }
        #expect(Set(tokens.map(\.hash)).count == 100)
        #expect(tokens.allSatisfy { $0.hash.count == RefreshLimits.hashBytes })
    }
}
