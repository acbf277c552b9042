import Observability
import Testing

@Suite struct TimestampTests {
    @Test(
        arguments: [
            (0, "1970-01-01T00:00:00.000Z"),
            (-1, "1969-12-31T23:59:59.999Z"),
            (951_782_399_999, "2000-02-28T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (951_868_800_000, "2000-03-01T00:00:00.000Z"),
            (1_767_225_599_999, "2025-12-31T23:59:59.999Z"),
            (1_782_896_703_042, "2026-07-01T09:05:03.042Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
            (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
        ] as [(Int64, String)])
    func `a moment is shown in UTC to the millisecond`(milliseconds: Int64, expected: String) {
        #expect(Timestamp(unixMilliseconds: milliseconds).description == expected)
    }

    @Test func `the ends of the range are shown`() {
        #expect(!Timestamp(unixMilliseconds: .min).description.isEmpty)
        #expect(!Timestamp(unixMilliseconds: .max).description.isEmpty)
    }

    @Test func `is read back from what it wrote, for every day of 400 years`() {
        for day in stride(from: Int64(0), to: 146_097, by: 1) {
            let time = Timestamp(unixMilliseconds: day * 86_400_000 + day % 86_400_000)
            #expect(Timestamp(time.description) == time)
        }
    }

    @Test(arguments: [
        ("2026-12-24", 1_798_070_400_000), ("2026-12-24T00:00Z", 1_798_070_400_000),
        ("2026-12-24T18:30:05Z", 1_798_137_005_000), ("2026-12-24T18:30:05.5Z", 1_798_137_005_500),
        ("2026-12-24T18:30:05.123456789Z", 1_798_137_005_123), ("2024-02-29", 1_709_164_800_000),
    ])
    func `is read in its forms`(text: String, milliseconds: Int64) {
        #expect(Timestamp(text)?.unixMilliseconds == milliseconds)
    }

    @Test(arguments: [
        "", "2026", "2026-12", "2026-12-24T", "2026-12-24T18Z", "2026-12-24T18:30", "2026-12-24T18:30:05",
        "2026-12-24T18:30+01:00", "2026-12-24 18:30Z", "2026-13-01", "2026-00-01", "2026-02-29", "2100-02-29",
        "2026-04-31", "2026-12-24T24:00Z", "2026-12-24T18:60Z", "2026-12-24T18:30:60Z", "2026-12-24T18:30:05.Z",
        "2026-12-24T18:30:05.1234567890Z", "1969-12-31", "26-12-24", "+026-12-24", "2026-12-24Z", " 2026-12-24",
        "２026-12-24", "2026-12-24T18:30:05Z ",
    ])
    func `is nothing else`(text: String) {
        #expect(Timestamp(text) == nil)
    }
}
