import Testing

@testable import RelayCore

/// One direction's marks.
struct FlowWindowTests {
    @Test func `the window flows at the high-water mark and pauses one byte above it`() {
        var window = FlowWindow(highWater: 1_000)
        #expect(window.update(queued: 1_000) == .none)
        #expect(!window.isPaused)
        #expect(window.update(queued: 1_001) == .pause)
        #expect(window.isPaused)
    }

    @Test func `the window resumes at half the mark, not one byte above that`() {
        var window = FlowWindow(highWater: 1_000)
        #expect(window.update(queued: 5_000) == .pause)
        #expect(window.update(queued: 501) == .none)
        #expect(window.isPaused)
        #expect(window.update(queued: 500) == .resume)
        #expect(!window.isPaused)
    }

    @Test func `each change is reported once`() {
        var window = FlowWindow(highWater: 10)
        #expect(window.update(queued: 11) == .pause)
        #expect(window.update(queued: 12) == .none)
        #expect(window.update(queued: 0) == .resume)
        #expect(window.update(queued: 0) == .none)
    }

    @Test(arguments: 0...9)
    func `between half and the mark nothing changes`(aboveHalf: Int) {
        var flowing = FlowWindow(highWater: 20)
        #expect(flowing.update(queued: 11 + aboveHalf) == .none)
        var paused = FlowWindow(highWater: 20)
        _ = paused.update(queued: 21)
        #expect(paused.update(queued: 11 + aboveHalf) == .none)
    }

    @Test func `uncounted bytes pause at any level and must be gone before the window resumes`() {
        var window = FlowWindow(highWater: 10)
        #expect(window.update(queued: 0, holdsMore: true) == .pause)
        #expect(window.update(queued: 11, holdsMore: true) == .none)
        #expect(window.update(queued: 0, holdsMore: true) == .none)
        #expect(window.update(queued: 6) == .none)
        #expect(window.update(queued: 5) == .resume)
    }

    @Test func `the smallest marks neither stall nor oscillate`() {
        for mark in 0...1 {
            var window = FlowWindow(highWater: mark)
            #expect(window.update(queued: 0) == .none)
            #expect(window.update(queued: mark + 1) == .pause)
            #expect(window.update(queued: 0) == .resume)
            #expect(window.update(queued: 0) == .none)
        }
    }
}
