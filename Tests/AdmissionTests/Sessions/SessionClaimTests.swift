import KeyStore
import Testing
import WireText

@testable import Admission

/// Which clients may resume a session.
struct SessionClaimTests {
    private static let owner = Identity.certificate(sha256: [UInt8](repeating: 1, count: 32))

    /// A register with one session, and the token issued to its client.
    private final class Stage {
        let book: RegisterBook<String>
        let token: String
        let lease: RegisterBook<String>.Lease

        init(owner: Identity = SessionClaimTests.owner) throws {
            var dice = Dice(7)
            let token = SessionToken(using: &dice)
            self.token = token.text
            book = RegisterBook()
            lease = try #require(book.reserve(for: owner, from: address("192.0.2.1")).lease)
            #expect(book.open(lease, id: "s1", token: token, holder: "first"))
            book.register.detached(lease, at: start.monotonic)
        }

        private init(_ other: Stage) {
            (book, token, lease) = (RegisterBook(other.book.register), other.token, other.lease)
        }

        var copy: Stage { Stage(self) }

        /// The client confirms that it has the newest token.
        func confirm(after milliseconds: Int = 0) {
            book.register.tokenConfirmed(lease, at: (start + milliseconds).monotonic)
        }

        func claim(
            _ token: String, id: String = "s1", owner: Identity = SessionClaimTests.owner,
            after milliseconds: Int = 0
        ) -> SessionClaim<String> {
            let claim = begin(token, id: id, owner: owner, after: milliseconds)
            if let holder = claim.claimed?.holder {
                #expect(book.adopted(lease, by: holder))
            }
            return claim
        }

        /// The same, but the session's move isn't completed.
        func begin(
            _ token: String, id: String = "s1", owner: Identity = SessionClaimTests.owner,
            after milliseconds: Int = 0
        ) -> SessionClaim<String> {
            book.claim(id: id, token: token, owner: owner, at: start + milliseconds)
        }
    }

    /// A token that was never issued.
    private func strange() -> String {
        var generator = SystemRandomNumberGenerator()
        return SessionToken(using: &generator).text
    }

    @Test func `the owner with the token gets the session and a new token`() throws {
        let stage = try Stage()
        let claimed = try #require(stage.claim(stage.token).claimed)
        #expect(claimed.holder == "first")
        #expect(claimed.token != stage.token)
        #expect(claimed.token.utf8.count == 64 && claimed.token == claimed.token.lowercased())
        #expect(stage.book.register.detachedCount == 0, "he is back")
        let again = try #require(stage.begin(claimed.token).claimed)
        #expect(stage.book.adopted(stage.lease, by: "second"))
        #expect(stage.claim(again.token).claimed?.holder == "second")
    }

    @Test func `an unknown token belongs to no session`() throws {
        let stage = try Stage()
        let other = strange()
        for forged in [
            other, "", String(stage.token.dropLast()), stage.token + "0", stage.token.uppercased(), " " + stage.token,
            String(repeating: "0", count: 64), String(repeating: "f", count: 64), String(repeating: "é", count: 32),
            String(repeating: "a", count: 1_000_000),
        ] { #expect(stage.claim(forged).isInvalid, "\(forged.prefix(70))") }
        for position in 0..<64 {
            var characters = Array(stage.token)
            characters[position] = characters[position] == "0" ? "1" : "0"
            #expect(stage.claim(String(characters)).isInvalid)
        }
        #expect(stage.book.register.detachedCount == 1, "nothing has changed")
        #expect(stage.claim(stage.token).claimed != nil)
    }

    @Test func `the token is refused for another identity`() throws {
        let key = try #require(KeyID(bytes: [UInt8](repeating: 1, count: 32)))
        let others: [Identity] = [
            .certificate(sha256: [UInt8](repeating: 2, count: 32)), .key(key), .anonymous, .operatorTicket(TicketID()),
        ]
        for other in others {
            let stage = try Stage()
            #expect(stage.claim(stage.token, owner: other).isInvalid)
            #expect(stage.claim(stage.token).claimed != nil)
            let theirs = try Stage(owner: other)
            #expect(theirs.claim(theirs.token).isInvalid)
            #expect(theirs.claim(theirs.token, owner: other).claimed != nil)
        }
    }

    @Test func `an unknown session and an ended one get the same answer`() throws {
        let stage = try Stage()
        let longest = String(repeating: "x", count: SessionLeaseLimits.maximumIDBytes)
        for id in ["", "s2", "S1", longest, longest + "x"] { #expect(stage.claim(stage.token, id: id).isUnknown) }
        stage.book.register.release(stage.lease)
        #expect(stage.claim(stage.token).isUnknown)
    }

    @Test func `a session that isn't open can't be claimed`() throws {
        let book = RegisterBook<String>()
        #expect(book.reserve(for: .anonymous, from: address("192.0.2.1")).lease != nil)
        for token in ["", strange(), String(repeating: "f", count: 64)] {
            #expect(book.claim(id: "", token: token, owner: .anonymous, at: start).isUnknown)
        }
    }

    // MARK: Rotation

    @Test func `the previous token is valid until the client has confirmed the new one`() throws {
        let stage = try Stage()
        #expect(stage.claim(stage.token).claimed != nil)
        // Its answer was lost, and it was offline for an hour; then the same again.
        #expect(stage.claim(stage.token, after: 3_600_000).claimed != nil)
        #expect(stage.claim(stage.token, after: 7_200_000).claimed != nil)
    }

    @Test func `the previous token is valid for exactly thirty seconds after the confirmation`()
        throws
    {
        let stage = try Stage()
        #expect(stage.claim(stage.token).claimed != nil)
        stage.confirm(after: 1_000)
        let late = stage.copy
        #expect(stage.claim(stage.token, after: 30_999).claimed != nil)
        #expect(late.claim(late.token, after: 31_000).isInvalid)
    }

    @Test func `neither its use nor another confirmation extends the previous token's time`() throws {
        let stage = try Stage()
        let lost = try #require(stage.claim(stage.token).claimed).token
        stage.confirm()
        let second = try #require(stage.claim(stage.token, after: 20_000).claimed).token
        #expect(second != lost)
        stage.confirm(after: 20_000)
        let late = stage.copy
        #expect(late.claim(late.token, after: 30_000).isInvalid)
        #expect(stage.claim(second, after: 40_000).claimed != nil)
    }

    /// A delayed request arrives after a later one and takes the session from it. The client that was answered has the
    /// token issued in between, and must get its session back.
    @Test func `the token of a client overtaken by an old request ends thirty seconds after a confirmation`() throws {
        let stage = try Stage()
        let told = try #require(stage.claim(stage.token).claimed).token
        let untold = try #require(stage.claim(stage.token, after: 10).claimed).token
        let never = stage.copy
        #expect(never.claim(told, after: 3_600_000).claimed != nil)
        stage.confirm(after: 10)
        let late = stage.copy
        #expect(stage.claim(told, after: 30_009).claimed != nil)
        #expect(stage.claim(untold, after: 30_010).claimed != nil)
        #expect(late.claim(told, after: 30_010).isInvalid)
    }

    @Test func `a confirmation for a lease without a session does nothing`() throws {
        let stage = try Stage()
        stage.book.register.release(stage.lease)
        stage.confirm()
        #expect(stage.book.register.count == 0)
    }

    @Test func `the use of the newest token ends the one issued meanwhile and keeps the previous one`()
        throws
    {
        let stage = try Stage()
        let meanwhile = try #require(stage.claim(stage.token).claimed).token
        let newest = try #require(stage.claim(stage.token, after: 1).claimed).token
        #expect(stage.claim(newest, after: 2).claimed != nil)
        #expect(stage.claim(meanwhile, after: 3).isInvalid)
        #expect(stage.claim(stage.token, after: 4).isInvalid)
        #expect(stage.claim(newest, after: 5).claimed != nil)
    }

    @Test func `the use of a new token ends the token before the previous one`() throws {
        let stage = try Stage()
        let second = try #require(stage.claim(stage.token).claimed).token
        let third = try #require(stage.claim(second, after: 1).claimed).token
        #expect(stage.claim(stage.token, after: 2).isInvalid)
        #expect(stage.claim(second, after: 3).claimed != nil)
        #expect(stage.claim(third, after: 4).claimed != nil, "given meanwhile")
    }

    @Test func `each of many claims with one token gets a different new token`() throws {
        let stage = try Stage()
        let tokens = (0..<20).compactMap { stage.claim(stage.token, after: $0).claimed?.token }
        #expect(Set(tokens).count == 20)
    }

    // MARK: On its way

    @Test func `a session in transfer can't be claimed again, and no token changes`() throws {
        let stage = try Stage()
        let first = try #require(stage.begin(stage.token).claimed)
        for token in [stage.token, first.token] { #expect(stage.begin(token, after: 5).isUnderway) }
        #expect(stage.begin(strange(), after: 5).isInvalid)
        #expect(stage.book.adopted(stage.lease, by: "second"))
        #expect(stage.begin(first.token, after: 6).claimed?.holder == "second")
    }

    @Test func `a failed claim leaves the session unchanged`() throws {
        let stage = try Stage()
        let first = try #require(stage.begin(stage.token).claimed)
        stage.book.register.claimFailed(stage.lease)
        #expect(stage.claim(first.token).isInvalid, "the client was never told it")
        #expect(stage.claim(stage.token, after: 60_000).claimed?.holder == "first")
    }

    @Test func `a session in transfer isn't evicted, and is attached after it`() throws {
        let stage = try Stage()
        _ = try #require(stage.begin(stage.token).claimed)
        // Its previous connection is lost meanwhile.
        stage.book.register.detached(stage.lease, at: start.monotonic)
        let others = (0..<4).compactMap { _ in stage.book.reserve(for: Self.owner, from: address("192.0.2.1")).lease }
        #expect(others.count == 4)
        #expect(stage.book.reserve(for: Self.owner, from: address("192.0.2.1")).refusal == .device)
        #expect(stage.book.adopted(stage.lease, by: "second"))
        #expect(stage.book.register.detachedCount == 0)
        #expect(stage.book.reserve(for: Self.owner, from: address("192.0.2.1")).refusal == .device)
    }

    @Test func `a session whose lease was lost during the claim is reported`() throws {
        let stage = try Stage()
        _ = try #require(stage.begin(stage.token).claimed)
        stage.book.register.release(stage.lease)
        #expect(!stage.book.adopted(stage.lease, by: "second"))
        #expect(stage.book.register.count == 0)
    }

    // MARK: Keeping secrets

    @Test func `no description shows a token`() throws {
        let stage = try Stage()
        var dice = Dice(7)
        let token = SessionToken(using: &dice)
        #expect(token.text == stage.token)
        var dumped = ""
        dump(token, to: &dumped)
        dump(stage.book.register, to: &dumped)
        dump(stage.claim(stage.token), to: &dumped)
        for text in ["\(token)", String(reflecting: token), "\(stage.book.register)", dumped] {
            #expect(!text.contains(token.text))
        }
    }

    @Test func `tokens are compared in constant time only`() throws {
        let source = try Repository.text("Sources/Gate/Admission/Sessions/SessionClaim.swift")
        #expect(source.contains("current.matches(digest)") && source.contains("previous.matches(digest)"))
        #expect(source.contains("meanwhile.matches(digest)"))
        #expect(source.contains(".mark).matches(owner.mark)"))
        #expect(!source.contains("digest ==") && !source.contains("== owner") && !source.contains("token =="))
        let secrets = try Repository.text("Sources/Gate/Admission/Lists/SharedSecrets.swift")
        #expect(secrets.contains("hash.matches(digest)") && !secrets.contains("digest =="))
    }

    @Test func `all tokens and the owner are compared for known and unknown sessions`() {
        let digest = SessionToken.digest(of: strange())
        #expect(SessionTokens.ofNobody.match(digest, at: start.monotonic) == nil)
        #expect(SessionTokens.ofNobody.match(SessionToken.digest(of: ""), at: MonotonicTime(nanoseconds: 0)) == nil)
    }
}
