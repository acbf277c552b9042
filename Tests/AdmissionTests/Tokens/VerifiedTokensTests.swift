import DPoP
import Foundation
import KeyStore
import Testing

@testable import Admission

/// The memory of access tokens whose signature was verified.
struct VerifiedTokensTests {
    private var bench: TokenBench

    init() throws {
        bench = try TokenBench()
    }

    private mutating func presented(_ scheme: String = "Bearer") async throws -> PresentedToken {
        let token = try #require(await bench.issuer().issue(bench.request()).token)
        return try #require(try PresentedToken.read(authorization: ["\(scheme) \(token.text)"]))
    }

    /// - Returns: whether the signature was verified anew.
    private func use(_ token: PresentedToken, of tokens: VerifiedTokens, at moment: Moment = start) throws -> Bool {
        var isNew = false
        let keys = bench.settings.keys.published(at: start.date)
        _ = try tokens.verified(token, at: moment.date, signedBy: keys) { () throws(AccessTokenRefusal) in
            isNew = true
            return try AccessTokenVerifier(issuer: TokenBench.issuer, audience: TokenBench.issuer, keys: keys).verify(
                token, at: moment.date)
        }
        return isNew
    }

    @Test mutating func `a signature is verified once for each scheme`() async throws {
        let tokens = VerifiedTokens()
        let bearer = try await presented()
        let bound = try #require(try PresentedToken.read(authorization: ["DPoP \(bearer.text)"]))
        #expect(try use(bearer, of: tokens) && !use(bearer, of: tokens))
        #expect(try use(bound, of: tokens) && !use(bound, of: tokens))
        let other = try await presented()
        #expect(try use(other, of: tokens))
    }

    @Test mutating func `a cached verification ends with its time and with its key`() async throws {
        let tokens = VerifiedTokens()
        let token = try await presented()
        _ = try use(token, of: tokens)
        #expect(try !use(token, of: tokens, at: start + 299_999))
        #expect(throws: AccessTokenRefusal.expired) { try use(token, of: tokens, at: start + 300_000) }
        #expect(throws: AccessTokenRefusal.notYetValid) { try use(token, of: tokens, at: start - 1) }
        #expect(throws: AccessTokenRefusal.unknownKey) {
            try tokens.verified(token, at: start.date, signedBy: JWKSet([])) { () throws(AccessTokenRefusal) in
                throw .malformed(.tooLong)
            }
        }
    }

    /// A reload may change both.
    @Test mutating func `issuer and audience are compared at each use`() async throws {
        let (token, keys) = (try await presented(), bench.settings.keys)
        let (own, other) = (TokenBench.issuer, "https://other.example")
        _ = try keys.verify(token, issuer: own, audience: own, at: start.date)
        #expect(throws: AccessTokenRefusal.wrongIssuer) {
            try keys.verify(token, issuer: other, audience: own, at: start.date)
        }
        #expect(throws: AccessTokenRefusal.wrongAudience) {
            try keys.verify(token, issuer: own, audience: other, at: start.date)
        }
        _ = try keys.verify(token, issuer: own, audience: own, at: start.date)
    }

    @Test mutating func `refused tokens aren't cached, and the cache has a maximum`() async throws {
        let tokens = VerifiedTokens(maximum: 4)
        let forged = try #require(try PresentedToken.read(authorization: ["Bearer a.b.c"]))
        for _ in 0..<2 { #expect(throws: AccessTokenRefusal.self) { try use(forged, of: tokens) } }
        #expect(tokens.count == 0)
        let first = try await presented()
        _ = try use(first, of: tokens)
        for count in [2, 3, 4, 3, 4] {
            _ = try use(try await presented(), of: tokens)
            #expect(tokens.count == count)
        }
        #expect(try use(first, of: tokens))
    }
}
