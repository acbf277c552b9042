import AppAttest
import Observability
import WireText

/// Parses the texts of settings. Texts that are almost right are refused with a hint, because guessing the operator's
/// intention could admit the wrong clients.
enum SettingGrammar {
    static func integer(_ text: String, in range: ClosedRange<Int>) throws(SettingProblem) -> Int {
        guard !text.isEmpty, text.utf8.allSatisfy(ASCIIByte.isDigit) else {
            throw SettingProblem(
                problem: "isn't a whole number", remedy: "Write only digits, without a sign, a unit or spaces.")
        }
        guard let value = Int(text), range.contains(value) else {
            throw SettingProblem(
                problem: "is out of range", remedy: "Write a number from \(range.lowerBound) to \(range.upperBound).")
        }
        return value
    }

    static func boolean(_ text: String) throws(SettingProblem) -> Bool {
        switch text {
        case "true": return true
        case "false": return false
        default: throw SettingProblem(problem: "is neither true nor false", remedy: "Write `true` or `false`.")
        }
    }

    static func time(_ text: String) throws(SettingProblem) -> Timestamp? {
        guard let time = Timestamp(text) else {
            throw SettingProblem(
                problem: "isn't a date or a time in UTC", remedy: "Write it like 2026-12-24 or 2026-12-24T18:00Z.")
        }
        return time
    }

    static func requiredPath(_ text: String) throws(SettingProblem) -> String {
        guard !text.unicodeScalars.contains(where: { $0.value < 0x20 || $0.value == 0x7F }) else {
            throw SettingProblem(problem: "holds a control character", remedy: "Write only the path.")
        }
        guard !text.contains(" #") else {
            throw SettingProblem(
                problem: "seems to end with a comment",
                remedy: "The program that sets this variable doesn't strip comments; put the comment on its own line.")
        }
        guard !text.hasPrefix("~") else {
            throw SettingProblem(problem: "begins with ~, which only a shell expands", remedy: "Write the full path.")
        }
        return text
    }

    static func path(_ text: String) throws(SettingProblem) -> String? {
        try requiredPath(text)
    }

    static func teamID(_ text: String) throws(SettingProblem) -> String? {
        guard AppID(teamID: text, bundleID: "a") != nil else {
            throw SettingProblem(
                problem: "isn't a team identifier",
                remedy: "Write the ten capital letters and digits from Apple's membership page.")
        }
        return text
    }

    /// The paths behind it must not be others of the gateway's.
    static func pathPrefix(_ text: String) throws(SettingProblem) -> String? {
        let bytes = Array(text.utf8)
        let isPath =
            bytes.count <= 64 && bytes.first == UInt8(ascii: "/") && bytes.last != UInt8(ascii: "/")
            && bytes.allSatisfy { ASCIIByte.isLetter($0) || ASCIIByte.isDigit($0) || "/-._~".utf8.contains($0) }
            && !text.contains("//")
        guard isPath, !["/attest", "/mud", "/api/auth"].contains(text), !text.hasBytePrefix("/api/auth/") else {
            throw SettingProblem(
                problem: "isn't a path that can stand before others",
                remedy: "Write a slash and letters, like `/push`; not `/attest`, `/mud` or `/api/auth`.")
        }
        return text
    }

    static func bundleIDs(_ text: String) throws(SettingProblem) -> [String] {
        let elements = try list(text)
        guard elements.allSatisfy({ AppID(teamID: "AAAAAAAAAA", bundleID: $0) != nil }) else {
            throw SettingProblem(
                problem: "holds something that isn't a bundle identifier",
                remedy: "Write letters, digits, hyphens and dots, like `com.example.app`, without a team or a `*`.")
        }
        return elements
    }

    static func appIDs(_ text: String) throws(SettingProblem) -> [AppID] {
        let elements = try list(text)
        let appIDs = elements.compactMap { AppID($0) }
        guard appIDs.count == elements.count else {
            throw SettingProblem(
                problem: "holds something that isn't an app identifier",
                remedy: "Write team and bundle with a dot between them, like `AAAAAAAAAA.com.example.app`.")
        }
        return appIDs
    }

    static func categories(_ text: String) throws(SettingProblem) -> Set<UInt32>? {
        var categories: Set<UInt32> = []
        for element in try list(text) {
            categories.insert(UInt32(try integer(element, in: 0...Int(UInt32.max))))
        }
        return categories
    }

    /// Elements between commas, without the spaces around them.
    static func list(_ text: String) throws(SettingProblem) -> [String] {
        let elements = text.split(separator: ",", omittingEmptySubsequences: false).map { element in
            String(element.trimmed { $0 == " " })
        }
        guard elements.allSatisfy({ !$0.isEmpty }) else {
            throw SettingProblem(problem: "has an empty entry", remedy: "Write one comma between two entries.")
        }
        return elements
    }
}
