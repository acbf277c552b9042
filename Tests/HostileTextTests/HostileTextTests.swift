import Testing

/// Hostile texts cost no more time than their length: each place where text comes in is fed each text, and its CPU time
/// for the whole text and for a sixteenth of it is compared. Whole are 32 KB, with `scripts/test --full` 64 KB, or the
/// most that the place lets in.
@Suite("Hostile text") struct HostileTextTests {
    /// Failures of one place that are reported: each may take seconds.
    private static let maximumReports = 4

    @Test(arguments: HostilePlace.all) func `costs linear time in every place that reads it`(place: HostilePlace)
        async throws
    {
        var reports = 0
        for text in place.texts where HostileText.isTried(text) {
            for spelling in place.spellings where reports < Self.maximumReports && spelling.suits(text) {
                let judgement = try await Judgement.of(HostileText.triedBytes(of: place.bytes)) { count in
                    CPUTime.ofThread(try place.prepare(Sample.of(text, spelling, count)))
                }
                guard !judgement.isGood else { continue }
                reports += 1
                Issue.record("\(place.name), \(text.name), \(spelling.rawValue): \(judgement)")
            }
        }
    }

    @Test func `has the worst text for comparisons that normalise`() async {
        @Sendable func cost(_ count: Int) -> Double {
            let text = String(decoding: HostileText.marks.bytes(count), as: UTF8.self)
            return CPUTime.ofThread { use(text.hashValue) }
        }
        // Three times, since the shorter one takes a few milliseconds.
        let short = (0..<3).map { _ in cost(4_096) }.min() ?? 0
        let long = cost(65_536)
        #expect(long > 100 * short, "\(long) ms and \(short) ms")
        // It is found in the length that is tried.
        let judgement = await Judgement.of(HostileText.triedBytes(of: 65_536), repetitions: 2) { cost($0) }
        #expect(!judgement.isGood, "\(judgement)")
    }

    @Test func `of linear cost is no finding`() async {
        let judgement = await Judgement.of(65_536) { count in
            let bytes = HostileText.marks.bytes(count)
            return CPUTime.ofThread { use(String(validating: bytes, as: UTF8.self)) }
        }
        #expect(judgement.isGood, "\(judgement)")
    }

    @Test(arguments: HostileText.all) func `fills the length that is asked for`(text: HostileText) {
        for count in [4_096, 65_536] {
            #expect((count - 64...count).contains(text.bytes(count).count), "\(text.bytes(count).count)")
        }
    }

    @Test func `is written as its carrier needs it`() {
        let bytes = Array("a\"\\\n\u{345}\u{1F468}".utf8)
        func text(_ spelling: Spelling) -> String { String(decoding: spelling.spelled(bytes), as: UTF8.self) }
        #expect(text(.json) == #"a\"\\\u000A"# + "\u{345}\u{1F468}")
        #expect(text(.jsonEscapes) == #"\u0061\u0022\u005C\u000A\u0345\uD83D\uDC68"#)
        #expect(text(.field) == "a\"\\\u{345}\u{1F468}")
        #expect(text(.percent) == "%61%22%5C%0A%CD%85%F0%9F%91%A8")
    }
}
