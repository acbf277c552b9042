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
}
