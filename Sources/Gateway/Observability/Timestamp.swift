/// The format of times in log and audit lines: RFC 3339, UTC, to the millisecond, `2026-07-01T09:05:03.042Z`.
package struct Timestamp: Equatable, Sendable, CustomStringConvertible {
    /// Milliseconds since 1970-01-01T00:00:00Z, without leap seconds.
    package let unixMilliseconds: Int64

    package init(unixMilliseconds: Int64) {
        self.unixMilliseconds = unixMilliseconds
    }

    package var description: String {
        let (day, millisecond) = unixMilliseconds.flooredDivision(by: 86_400_000)
        let date = Self.date(daysSince1970: day)
        let time = [millisecond / 3_600_000, millisecond / 60_000 % 60, millisecond / 1000 % 60].map { padded($0, 2) }
        return padded(date.year, 4) + "-" + padded(date.month, 2) + "-" + padded(date.day, 2)
            + "T" + time.joined(separator: ":") + "." + padded(millisecond % 1000, 3) + "Z"
    }

    /// The day of the proleptic Gregorian calendar. Years are counted from 1 March, which puts the leap day last, so
    /// that the months' lengths follow one linear formula; 400 years have 146,097 days.
    private static func date(daysSince1970: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let daysFrom0000March1To1970: Int64 = 719_468
        let (era, dayOfEra) = (daysSince1970 + daysFrom0000March1To1970).flooredDivision(by: 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        let year = era * 400 + yearOfEra + (month <= 2 ? 1 : 0)
        return (year, month, dayOfYear - (153 * monthFromMarch + 2) / 5 + 1)
    }
}

extension Int64 {
    /// Rounds toward negative infinity, so the remainder is never negative and times before 1970 work.
    fileprivate func flooredDivision(by divisor: Int64) -> (quotient: Int64, remainder: Int64) {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}

private func padded(_ value: Int64, _ digits: Int) -> String {
    let text = String(value)
    return String(repeating: "0", count: Swift.max(0, digits - text.count)) + text
}
