import Observability
import Testing

@Suite struct RepeatedMessagesTests {
    @Test func aBurstPassesAndTheRestIsHeldBackUntilTheIntervalEnds() {
        var messages = RepeatedMessages(burst: 2, interval: 100)
        #expect(messages.verdict(for: "a", at: 1000) == .log(suppressed: 0))
        #expect(messages.verdict(for: "a", at: 1000) == .log(suppressed: 0))
        #expect(messages.verdict(for: "a", at: 1000) == .suppress)
        #expect(messages.verdict(for: "a", at: 1099) == .suppress)
        #expect(messages.verdict(for: "a", at: 1100) == .log(suppressed: 2))
        #expect(messages.verdict(for: "a", at: 1300) == .log(suppressed: 0))
    }

    @Test func keysAreCountedApart() {
        var messages = RepeatedMessages(burst: 1, interval: 100)
        #expect(messages.verdict(for: "a", at: 0) == .log(suppressed: 0))
        #expect(messages.verdict(for: "b", at: 0) == .log(suppressed: 0))
        #expect(messages.verdict(for: "a", at: 0) == .suppress)
    }

    @Test func whenAllKeysAreInUseNewcomersShareOneAllowance() {
        var messages = RepeatedMessages(burst: 1, interval: 100, maximumKeys: 2)
        #expect(messages.verdict(for: "a", at: 0) == .log(suppressed: 0))
        #expect(messages.verdict(for: "b", at: 0) == .log(suppressed: 0))
        #expect(messages.verdict(for: "c", at: 0) == .log(suppressed: 0))
        #expect(messages.verdict(for: "d", at: 0) == .suppress)
        #expect(messages.verdict(for: "a", at: 0) == .suppress)
    }

    @Test func finishedKeysMakeRoom() {
        var messages = RepeatedMessages(burst: 1, interval: 100, maximumKeys: 1)
        #expect(messages.verdict(for: "a", at: 0) == .log(suppressed: 0))
        #expect(messages.verdict(for: "b", at: 100) == .log(suppressed: 0))
        #expect(messages.verdict(for: "b", at: 100) == .suppress)
        #expect(messages.verdict(for: "a", at: 100) == .log(suppressed: 0))
        #expect(messages.verdict(for: "c", at: 100) == .suppress)
    }

    @Test func aClockThatStepsBackHoldsBackAndDoesNotTrap() {
        var messages = RepeatedMessages(burst: 1, interval: 100)
        #expect(messages.verdict(for: "a", at: 1000) == .log(suppressed: 0))
        #expect(messages.verdict(for: "a", at: 0) == .suppress)
    }
}
