/// Shell scripts that take part in an upgrade as a new process, as far as they like. The channel is descriptor 3.
enum HandoverScript {
    /// `HandoverRecord.format`.
    static let format: UInt16 = 4

    /// `{"ready":{"format":…,"version":"x"}}`
    static func ready(format: UInt16 = format) -> String {
        let number: [UInt8] = format < 128 ? [UInt8(format)] : [UInt8(format & 0x7F) | 0x80, UInt8(format >> 7)]
        return say(
            [9, 1] + text("ready") + [9, 2] + text("format") + [3] + number + text("version") + [6] + text("x"))
    }

    /// `{"staged":{}}`
    static func word(_ word: String) -> String { say([9, 1] + text(word) + [9, 0]) }

    /// Takes what comes, up to so many bytes, and ends.
    static func take(_ bytes: Int) -> String { "head -c \(bytes) <&3 >/dev/null; exit 1" }

    /// Takes what comes, until the order to begin is there.
    static let takeUntilCommit =
        "perl -e 'while (sysread(STDIN, $b, 65536)) { $a .= $b; last if $a =~ /commit/ }' <&3; exit 1"

    private static func text(_ text: String) -> [UInt8] { [UInt8(text.utf8.count)] + text.utf8 }

    /// One record.
    private static func say(_ record: [UInt8]) -> String {
        let bytes: [UInt8] = [0, 0, 0, UInt8(record.count), 0, 0, 0, 0] + record
        let octal = bytes.map {
            "\\" + String(repeating: "0", count: $0 < 8 ? 2 : $0 < 64 ? 1 : 0) + String($0, radix: 8)
        }
        return "printf '\(octal.joined())' >&3; "
    }
}
