import Foundation
import Testing

@testable import DPoP

@Suite("Server nonces")
struct ServerNoncesTests {
    private let nonces: ServerNonces
    /// The beginning of a step.
    private let start = Date(timeIntervalSince1970: 1_900_000_020)

    init() throws { nonces = try #require(ServerNonces(secret: [UInt8](repeating: 5, count: 32))) }

    @Test func `are valid in their own step and its two neighbours`() {
        let nonce = nonces.nonce(at: start)
        #expect(
            nonce.utf8.count == 22 && nonces.nonce(at: start + 59.9) == nonce && nonces.nonce(at: start + 60) != nonce)
        for offset in [-60, 0, 59.9, 60, 119.9] { #expect(nonces.accepts(nonce, at: start + offset), "\(offset)") }
        for offset in [-60.1, 120, 6_000, -6_000] { #expect(!nonces.accepts(nonce, at: start + offset), "\(offset)") }
    }

    @Test func `are renewed before they end`() {
        let nonce = nonces.nonce(at: start)
        #expect(!nonces.isRenewalDue(nonce, at: start + 59.9))
        #expect(nonces.isRenewalDue(nonce, at: start + 60) && nonces.accepts(nonce, at: start + 60))
        #expect(!nonces.isRenewalDue(nonce, at: start - 1))
        #expect(nonces.isRenewalDue(nil, at: start) && nonces.isRenewalDue("another", at: start))
        #expect(!nonces.isRenewalDue(nonces.nonce(at: start + 60), at: start + 60))
    }

    @Test func `are accepted by every server with the secret and by no other`() throws {
        let same = try #require(ServerNonces(secret: [UInt8](repeating: 5, count: 32)))
        let other = try #require(ServerNonces(secret: [UInt8](repeating: 6, count: 32)))
        #expect(same.accepts(nonces.nonce(at: start), at: start) && !other.accepts(nonces.nonce(at: start), at: start))
        #expect(ServerNonces(secret: [UInt8](repeating: 5, count: 31)) == nil)
        #expect(ServerNonces(secret: [UInt8](repeating: 5, count: 32), step: 0.9) == nil)
        #expect(ServerNonces(secret: [UInt8](repeating: 5, count: 32), step: .nan) == nil)
    }

    @Test func `that are bound to a life are good in that life only`() throws {
        let (life, other) = (ReplayLife(began: nil), ReplayLife(began: nil))
        let bound = nonces.bound(to: life)
        let nonce = bound.nonce(at: start)
        #expect(nonce.utf8.count == 22 && bound.accepts(nonce, at: start) && bound.life == life.id)
        #expect(!nonces.accepts(nonce, at: start) && !bound.accepts(nonces.nonce(at: start), at: start))
        #expect(nonces.life == nil && !nonces.bound(to: other).accepts(nonce, at: start))
        // When a life began, and what was bound before, makes no difference.
        let same = try #require(ReplayLife(id: life.id, began: start))
        #expect(nonces.bound(to: other).bound(to: same).accepts(nonce, at: start))
        let stranger = try #require(ServerNonces(secret: [UInt8](repeating: 6, count: 32)))
        #expect(!stranger.bound(to: life).accepts(nonce, at: start))
        #expect(!bound.isRenewalDue(nonce, at: start) && bound.isRenewalDue(nonce, at: start + 60))
    }

    @Test func `are invalid when any byte is changed`() {
        let nonce = nonces.nonce(at: start)
        for text in ["", "a", nonce + "A", String(nonce.dropLast()), nonce + "=", "\(nonce).\(nonce)"] {
            #expect(!nonces.accepts(text, at: start))
        }
        for index in nonce.indices {
            for symbol in "AaQ0_" where nonce[index] != symbol {
                var forged = nonce
                forged.replaceSubrange(index...index, with: String(symbol))
                #expect(!nonces.accepts(forged, at: start))
            }
        }
        for time in [Double.infinity, -.infinity, .nan, 1e300] {
            #expect(!nonces.accepts(nonce, at: Date(timeIntervalSince1970: time)))
        }
    }
}
