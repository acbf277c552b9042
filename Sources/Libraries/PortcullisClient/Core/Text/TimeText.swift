/// Points in time as servers write them, in seconds since 1970.
enum TimeText {
    private static let months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]

    /// The form that every server sends in `Date`: `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110 section 5.6.7).
    static func seconds(httpDate text: some StringProtocol) -> Int? {
        let bytes = Array(text.utf8)
        guard bytes.count == 29, bytes[3] == UInt8(ascii: ","), bytes.suffix(4).elementsEqual(" GMT".utf8) else {
            return nil
        }
        let name = String(decoding: bytes[8..<11], as: UTF8.self)
        guard let month = months.firstIndex(where: { $0.isSameIgnoringCase(as: name) }),
            let year = bytes[12..<16].decimal(upTo: 9999), let day = bytes[5..<7].decimal(upTo: 31),
            let time = timeOfDay(bytes[17..<25])
        else { return nil }
        return days(year, month + 1, day) * 86_400 + time
    }

    /// `2026-11-22T20:00:00Z`, also with a fraction, which is ignored, and with an offset (RFC 3339).
    static func seconds(rfc3339 text: some StringProtocol) -> Int? {
        let bytes = Array(text.utf8)
        guard (20...40).contains(bytes.count), bytes[4] == UInt8(ascii: "-"), bytes[7] == UInt8(ascii: "-"),
            bytes[10].lowercasedASCII == UInt8(ascii: "t"), let year = bytes[0..<4].decimal(upTo: 9999),
            let month = bytes[5..<7].decimal(upTo: 12), month > 0, let day = bytes[8..<10].decimal(upTo: 31),
            let time = timeOfDay(bytes[11..<19]), let offset = offset(bytes[19...])
        else { return nil }
        return days(year, month, day) * 86_400 + time - offset
    }

    private static func timeOfDay(_ bytes: ArraySlice<UInt8>) -> Int? {
        let parts = bytes.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        guard parts.count == 3, let hour = parts[0].decimal(upTo: 23), let minute = parts[1].decimal(upTo: 59),
            let second = parts[2].decimal(upTo: 60)
        else { return nil }
        return hour * 3_600 + minute * 60 + second
    }

    /// Of a fraction and a zone, in seconds.
    private static func offset(_ bytes: ArraySlice<UInt8>) -> Int? {
        var rest = bytes
        if rest.first == UInt8(ascii: ".") { rest = rest.dropFirst().drop(while: \.isASCIIDigit) }
        guard let sign = rest.first else { return nil }
        if sign.lowercasedASCII == UInt8(ascii: "z") { return rest.count == 1 ? 0 : nil }
        let digits = rest.dropFirst()
        guard digits.count == 5, let hours = digits.prefix(2).decimal(upTo: 23),
            let minutes = digits.suffix(2).decimal(upTo: 59)
        else { return nil }
        let offset = hours * 3_600 + minutes * 60
        return sign == UInt8(ascii: "+") ? offset : sign == UInt8(ascii: "-") ? -offset : nil
    }

    /// Days from 1970-01-01 in the Gregorian calendar: years begin in March, so that a leap day ends one.
    private static func days(_ year: Int, _ month: Int, _ day: Int) -> Int {
        let year = month <= 2 ? year - 1 : year
        let monthFromMarch = (month + 9) % 12
        let dayOfYear = (153 * monthFromMarch + 2) / 5 + day - 1
        return 365 * year + year / 4 - year / 100 + year / 400 + dayOfYear - 719_468
    }
}
