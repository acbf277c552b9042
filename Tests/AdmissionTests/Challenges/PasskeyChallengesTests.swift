import Admission
import KeyStore
import Testing

struct PasskeyChallengesTests {
    private let challenges = PasskeyChallenges(epoch: epoch)
    private let binding: [UInt8] = Array("the key of the proof".utf8)

    private func issue(_ purpose: PasskeyChallenges.Purpose = .authentication, _ payload: [UInt8] = []) -> [UInt8] {
        challenges.issue(for: purpose, payload: payload, binding: binding, at: start)
    }

    /// - Returns: nil: it was used.
    private func refusal(
        _ bytes: [UInt8], _ purpose: PasskeyChallenges.Purpose = .authentication, binding: [UInt8]? = nil,
        age: Int = 0
    ) -> String? {
        let spending = challenges.spend(
            bytes, for: purpose, binding: binding ?? self.binding, at: (start + age).monotonic)
        guard case .refused(let refusal) = spending else { return nil }
        return refusal.detail
    }

    @Test func `issuing stores nothing, and each challenge is used once`() {
        let issued = issue()
        #expect(issued.count == 32 && challenges.spentCount == 0)
        #expect(issued != issue())
        #expect(refusal(issued) == nil && challenges.spentCount == 1)
        #expect(refusal(issued) == "challenge was already used")
        #expect(challenges.spentCount == 1)
    }

    @Test(arguments: [(0, true), (299_999, true), (300_000, false), (86_400_000, false)])
    func `a challenge is good for five minutes`(age: Int, isGood: Bool) {
        #expect(refusal(issue(), age: age) == (isGood ? nil : "challenge has expired"))
    }

    @Test func `a challenge is foreign for another purpose and another binding, and stays good for its own`() {
        let foreign = "challenge is not of this process"
        let issued = issue(.registration, Array("account".utf8))
        #expect(refusal(issued, .authentication) == foreign && refusal(issued, .device) == foreign)
        #expect(refusal(issued, .registration, binding: []) == foreign)
        #expect(refusal(issued, .registration, binding: binding + [0]) == foreign)
        #expect(challenges.spentCount == 0)
        #expect(refusal(issued, .registration) == nil)
    }

    @Test func `the payload can't be changed, shortened, or moved into the binding`() {
        let foreign = "challenge is not of this process"
        let payload = Array("account".utf8)
        let issued = issue(.registration, payload)
        #expect(PasskeyChallenges.payload(of: issued) == payload)
        for index in issued.indices {
            var changed = issued
            changed[index] ^= 1
            #expect(refusal(changed, .registration) == foreign, "byte \(index)")
        }
        #expect(refusal(Array(issued.dropLast()), .registration) == foreign)
        #expect(refusal(issued + [0], .registration) == foreign)
        #expect(refusal(Array(issued.dropLast()), .registration, binding: [payload[6]] + binding) == foreign)
        #expect(refusal(issued, .registration) == nil)
    }

    @Test func `what can't be a challenge is malformed`() {
        for count in [0, 1, 31, 32 + PasskeyChallenges.maximumPayloadBytes + 1, 10_000] {
            #expect(refusal([UInt8](repeating: 7, count: count)) == "challenge is malformed", "\(count) bytes")
        }
        #expect(refusal([UInt8](repeating: 7, count: 32)) == "challenge is not of this process")
        #expect(challenges.spentCount == 0)
    }

    @Test func `a full set of one purpose refuses nothing of another`() {
        let few = PasskeyChallenges(epoch: epoch, maximumSpent: 2)
        func spend(_ purpose: PasskeyChallenges.Purpose) -> Bool {
            let issued = few.issue(for: purpose, binding: binding, at: start)
            if case .spent = few.spend(issued, for: purpose, binding: binding, at: start.monotonic) { return true }
            return false
        }
        #expect((0..<3).map { _ in spend(.authentication) } == [true, true, false])
        #expect(spend(.registration) && spend(.device))
    }

    @Test func `challenges of another process are foreign, but those of the process before are good once`() throws {
        let (before, used) = (issue(), issue())
        #expect(refusal(used) == nil)
        let other = PasskeyChallengesTests()
        #expect(other.refusal(before) == "challenge is not of this process")
        try other.challenges.restore(challenges.carried)
        #expect(other.refusal(used) == "challenge was already used")
        #expect(other.refusal(before) == nil)
        #expect(other.refusal(before) == "challenge was already used")
    }

    @Test func `one of many who use a challenge at once gets it`() async {
        let issued = issue()
        let winners = await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<64 { group.addTask { [self] in refusal(issued) == nil } }
            return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(winners == 1)
    }
}
