import Admission
import Testing

/// The memory of used challenges: bounded, and empty again when all have expired.
struct SpentSetTests {
    @Test func `at the maximum a challenge is refused for now and stays valid`() {
        let challenges = Challenges(epoch: epoch, maximumSpent: 3)
        for _ in 0..<3 { #expect(challenges.spend(challenges.issue(at: start).nonce, at: start.monotonic).isSpent) }
        let late = start + 30_000
        let nonce = challenges.issue(at: late).nonce
        guard case .full(let seconds) = challenges.spend(nonce, at: late.monotonic) else {
            Issue.record("the set took more than its maximum")
            return
        }
        #expect((30...32).contains(seconds))
        #expect(challenges.spend(nonce, at: (late + seconds * 1_000).monotonic).isSpent)
    }

    @Test func `a used challenge and a full set have different answers`() {
        let challenges = Challenges(epoch: epoch, maximumSpent: 1)
        let nonce = challenges.issue(at: start).nonce
        #expect(challenges.spend(nonce, at: start.monotonic).isSpent)
        #expect(challenges.spend(nonce, at: start.monotonic).detail == "challenge was already used")
    }

    @Test func `with a maximum of zero nothing is ever spent`() {
        let challenges = Challenges(epoch: epoch, maximumSpent: 0)
        guard case .full = challenges.spend(challenges.issue(at: start).nonce, at: start.monotonic) else {
            Issue.record("spent")
            return
        }
    }

    @Test func `used challenges are forgotten within a second of their expiry, not before`() {
        let challenges = Challenges(epoch: epoch)
        let early = challenges.issue(at: start).nonce
        _ = challenges.spend(early, at: start.monotonic)
        let late = challenges.issue(at: start + 10_000).nonce
        _ = challenges.spend(late, at: (start + 59_999).monotonic)
        #expect(challenges.spentCount == 2)
        touch(challenges, at: start + 61_000)
        #expect(challenges.spentCount == 1)
        #expect(challenges.spend(late, at: (start + 69_999).monotonic).detail == "challenge was already used")
        touch(challenges, at: start + 71_000)
        #expect(challenges.spentCount == 0)
    }

    @Test func `a used challenge is never accepted again, at any time`() {
        for offset in [0, 1, 500, 999] {
            let challenges = Challenges(epoch: epoch)
            let nonce = challenges.issue(at: start + offset).nonce
            #expect(challenges.spend(nonce, at: (start + offset).monotonic).isSpent)
            for age in stride(from: 0, through: 130_000, by: 250) {
                #expect(!challenges.spend(nonce, at: (start + offset + age).monotonic).isSpent)
            }
        }
    }

    @Test func `a thread whose clock is behind can't reuse a forgotten challenge`() {
        let challenges = Challenges(epoch: epoch)
        let nonce = challenges.issue(at: start).nonce
        _ = challenges.spend(nonce, at: start.monotonic)
        touch(challenges, at: start + 61_000)
        #expect(challenges.spentCount == 0)
        #expect(challenges.spend(nonce, at: (start + 59_000).monotonic).detail == "challenge has expired")
    }

    @Test func `a hundred thousand are remembered by default, and one more is refused`() {
        let challenges = Challenges(epoch: epoch)
        for index in 0..<100_000 {
            let moment = start + index / 10
            guard challenges.spend(challenges.issue(at: moment).nonce, at: moment.monotonic).isSpent else {
                Issue.record("refused at \(index)")
                return
            }
        }
        let end = start + 10_000
        guard case .full = challenges.spend(challenges.issue(at: end).nonce, at: end.monotonic) else {
            Issue.record("no limit")
            return
        }
        #expect(challenges.spentCount == 100_000)
    }

    @Test func `hours of spending use the memory of one time to live`() {
        let challenges = Challenges(epoch: epoch, maximumSpent: 700)
        for second in 0..<10_000 {
            for part in 0..<10 {
                let moment = start + second * 1_000 + part * 100
                #expect(challenges.spend(challenges.issue(at: moment).nonce, at: moment.monotonic).isSpent)
            }
            #expect(challenges.spentCount <= 620)
        }
    }

    /// Any attempt makes the set check the time.
    private func touch(_ challenges: Challenges, at moment: Moment) {
        let old = challenges.issue(at: moment - 60_000).nonce
        #expect(challenges.spend(old, at: moment.monotonic).detail == "challenge has expired")
    }
}
