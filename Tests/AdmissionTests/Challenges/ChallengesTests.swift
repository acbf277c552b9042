import Admission
import Crypto
import FoundationEssentials
import Testing

struct ChallengesTests {
    private let challenges = Challenges(epoch: epoch)

    @Test func `a challenge is 64 lower-case hexadecimal digits and expires after a minute`() {
        let issued = challenges.issue(at: start)
        #expect(issued.nonce.utf8.count == 64)
        #expect(issued.nonce.utf8.allSatisfy { "0123456789abcdef".utf8.contains($0) })
        #expect(issued.expires == start.unixMilliseconds + 60_000)
    }

    @Test func `challenges of one moment all differ, and none is stored`() {
        let nonces = Set((0..<10_000).map { _ in challenges.issue(at: start).nonce })
        #expect(nonces.count == 10_000)
        #expect(challenges.spentCount == 0)
    }

    @Test func `spending yields the SHA-256 of the challenge's bytes, once`() {
        let nonce = challenges.issue(at: start).nonce
        let bytes = bytesOf(hex: nonce)
        guard case .spent(let spent) = challenges.spend(nonce, at: start.monotonic) else {
            Issue.record("a fresh challenge was not accepted")
            return
        }
        #expect(spent.clientDataHash == Array(SHA256.hash(data: bytes)))
        #expect(challenges.spend(nonce, at: start.monotonic).detail == "challenge was already used")
        #expect(challenges.spentCount == 1)
    }

    @Test func `examining a challenge says what spending it would, and spends nothing`() {
        func refusal(_ nonce: String, _ purpose: TokenChallengePurpose, _ age: Int = 0) -> String? {
            let found = challenges.examine(nonce, for: purpose, at: (start + age).monotonic)
            guard case .refused(let refusal) = found else { return nil }
            return refusal.detail
        }
        let nonce = challenges.issueForToken(at: start).nonce
        for _ in 0..<3 { #expect(refusal(nonce, .token) == nil && refusal(nonce, .registration) == nil) }
        #expect(refusal(nonce, .token, 59_999) == nil)
        #expect(refusal(nonce, .token, 60_000) == "challenge has expired")
        #expect(challenges.spentCount == 0)
        #expect(challenges.spend(nonce, for: .token, at: start.monotonic).isSpent)
        #expect(refusal(nonce, .token) == "challenge was already used" && refusal(nonce, .registration) == nil)
        #expect(refusal(challenges.issue(at: start).nonce, .token) == "challenge is malformed")
        let foreign = Challenges(epoch: epoch).issueForToken(at: start).nonce
        #expect(refusal(foreign, .token) == "challenge is not of this process")
        #expect(refusal(challenges.issueForToken(at: start + 1_001).nonce, .token) == "challenge is from the future")
    }

    @Test func `upper case is the same challenge`() {
        let nonce = challenges.issue(at: start).nonce
        #expect(challenges.spend(nonce.uppercased(), at: start.monotonic).isSpent)
        #expect(!challenges.spend(nonce, at: start.monotonic).isSpent)
    }

    @Test(arguments: [0, 1, 59_999]) func `a challenge is valid until it expires`(age: Int) {
        let nonce = challenges.issue(at: start).nonce
        #expect(challenges.spend(nonce, at: (start + age).monotonic).isSpent)
    }

    @Test(arguments: [60_000, 60_001, 3_600_000, 5_000_000_000])
    func `a challenge expires after exactly sixty seconds`(age: Int) {
        let nonce = challenges.issue(at: start).nonce
        #expect(challenges.spend(nonce, at: (start + age).monotonic).detail == "challenge has expired")
    }

    @Test func `the time to live is a setting`() {
        let short = Challenges(epoch: epoch, timeToLive: .seconds(2))
        let issued = short.issue(at: start)
        #expect(issued.expires == start.unixMilliseconds + 2_000)
        #expect(short.spend(short.issue(at: start).nonce, at: (start + 1_999).monotonic).isSpent)
        #expect(short.spend(issued.nonce, at: (start + 2_000).monotonic).detail == "challenge has expired")
    }

    @Test func `no setting makes a challenge live longer than an hour`() {
        let long = Challenges(epoch: epoch, timeToLive: .seconds(Int64.max))
        let nonce = long.issue(at: start).nonce
        #expect(long.spend(nonce, at: (start + 3_600_000).monotonic).detail == "challenge has expired")
    }

    @Test func `a reactor whose clock is one turn behind accepts a new challenge of another, not a later one`() {
        let nonce = challenges.issue(at: start).nonce
        #expect(challenges.spend(nonce, at: (start - 1_001).monotonic).detail == "challenge is from the future")
        #expect(challenges.spend(nonce, at: (start - 1_000).monotonic).isSpent)
    }

    @Test func `another process's challenge is foreign`() {
        let nonce = Challenges(epoch: epoch).issue(at: start).nonce
        #expect(challenges.spend(nonce, at: start.monotonic).detail == "challenge is not of this process")
    }

    @Test func `any flipped bit makes a challenge foreign and spends nothing`() {
        let nonce = challenges.issue(at: start).nonce
        let bytes = bytesOf(hex: nonce)
        for bit in 0..<256 {
            var flipped = bytes
            flipped[bit / 8] ^= 1 << UInt8(bit % 8)
            let outcome = challenges.spend(hex(flipped), at: start.monotonic)
            #expect(outcome.detail == "challenge is not of this process", "bit \(bit)")
        }
        #expect(challenges.spend(nonce, at: start.monotonic).isSpent)
    }

    @Test func `randomness, time and MAC of two challenges can't be mixed`() {
        let one = bytesOf(hex: challenges.issue(at: start).nonce)
        let other = bytesOf(hex: challenges.issue(at: start + 1).nonce)
        for cut in [10, 16] {
            let mixed = hex(one[..<cut] + other[cut...])
            #expect(challenges.spend(mixed, at: start.monotonic).detail == "challenge is not of this process")
        }
    }

    @Test(arguments: [
        "", "0", String(repeating: "0", count: 63), String(repeating: "0", count: 65),
        String(repeating: "g", count: 64),
        String(repeating: "0", count: 63) + " ", String(repeating: "é", count: 32),
        String(repeating: "0", count: 100_000),
        "0x" + String(repeating: "0", count: 62), String(repeating: "0", count: 63) + "\u{0}",
    ])
    func `text other than 64 hexadecimal digits is malformed`(text: String) {
        #expect(challenges.spend(text, at: start.monotonic).detail == "challenge is malformed")
    }

    @Test func `exactly one of a hundred threads spends a challenge`() {
        let challenges = challenges
        for _ in 0..<20 {
            let nonce = challenges.issue(at: start).nonce
            let outcomes = race(100) { _ in challenges.spend(nonce, at: start.monotonic).isSpent }
            #expect(outcomes.filter { $0 }.count == 1)
        }
    }

    private func hex(_ bytes: some Sequence<UInt8>) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}

extension ChallengeSpending {
    var isSpent: Bool {
        guard case .spent = self else { return false }
        return true
    }
}
