extension Timestamp {
    /// Reads a date or a time in UTC: `2026-12-24`, `2026-12-24T18:00Z`, with seconds, and with a fraction of which
    /// milliseconds are kept.
    ///
    /// - Returns: nil for anything else; no date is corrected, and no other time zone is accepted.
    package init?(_ text: String) {
        var reader = TimestampReader(text)
        guard let day = reader.day() else { return nil }
        guard !reader.isAtEnd else {
            self.init(unixMilliseconds: day * 86_400_000)
            return
        }
        guard reader.take("T"), let milliseconds = reader.timeOfDay(), reader.take("Z"), reader.isAtEnd else {
            return nil
        }
        self.init(unixMilliseconds: day * 86_400_000 + milliseconds)
    }

    /// Days since 1970-01-01 of a date of the Gregorian calendar: the inverse of the calendar in ``description``.
    fileprivate static func day(year: Int64, month: Int64, day: Int64) -> Int64 {
        let year = month <= 2 ? year - 1 : year
        let (era, yearOfEra) = (year / 400, year % 400)
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }
}

private struct TimestampReader {
    /// Digits of a fraction of a second.
    private static let maximumFraction = 9

    private var rest: Substring.UTF8View

    init(_ text: String) { rest = Substring(text).utf8 }

    var isAtEnd: Bool { rest.isEmpty }

    mutating func take(_ character: Character) -> Bool {
        guard let byte = character.asciiValue, rest.first == byte else { return false }
        rest = rest.dropFirst()
        return true
    }

    /// Exactly `count` digits.
    private mutating func number(_ count: Int, _ range: ClosedRange<Int64>) -> Int64? {
        let digits = rest.prefix(count)
        guard digits.count == count, digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        rest = rest.dropFirst(count)
        let value = digits.reduce(0) { $0 * 10 + Int64($1 - 0x30) }
        return range.contains(value) ? value : nil
    }

    mutating func day() -> Int64? {
        guard let year = number(4, 1970...9999), take("-"), let month = number(2, 1...12), take("-"),
            let day = number(2, 1...Self.length(of: month, in: year))
        else { return nil }
        return Timestamp.day(year: year, month: month, day: day)
    }

    private static func length(of month: Int64, in year: Int64) -> Int64 {
        switch month {
        case 4, 6, 9, 11: 30
        case 2: year.isMultiple(of: 4) && (!year.isMultiple(of: 100) || year.isMultiple(of: 400)) ? 29 : 28
        default: 31
        }
    }

    /// Milliseconds since midnight. A leap second isn't accepted: no clock here shows one.
    mutating func timeOfDay() -> Int64? {
        guard let hour = number(2, 0...23), take(":"), let minute = number(2, 0...59) else { return nil }
        let minutes = (hour * 60 + minute) * 60_000
        guard take(":") else { return minutes }
        guard let second = number(2, 0...59) else { return nil }
        guard take(".") else { return minutes + second * 1_000 }
        let digits = rest.prefix { (0x30...0x39).contains($0) }
        guard (1...Self.maximumFraction).contains(digits.count) else { return nil }
        rest = rest.dropFirst(digits.count)
        let milliseconds = (Array(digits) + [0x30, 0x30]).prefix(3).reduce(0) { $0 * 10 + Int64($1 - 0x30) }
        return minutes + second * 1_000 + milliseconds
    }
}
