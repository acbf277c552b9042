import Admission
import CharacterSets
import Reactors
import RelayCore
import Telnet
import WireText

extension SettingGrammar {
    static func endpoints(_ text: String) throws(SettingProblem) -> [TargetEndpoint] {
        try targetErrors("holds a target that can't be read") { () throws(TargetFaults) in
            try TargetList.targets(text)
        }
    }

    static func ports(_ text: String) throws(SettingProblem) -> [ClosedRange<UInt16>] {
        try targetErrors("holds a port that can't be read") { () throws(TargetFaults) in try TargetList.ports(text) }
    }

    static func routes(_ text: String) throws(SettingProblem) -> [Route] {
        try targetErrors("holds a route that can't be read") { () throws(TargetFaults) in
            try Route.list(text, methods: [ConfiguredMethod].all.routeNames) { (try? encoding($0)) != nil }
        }
    }

    /// An encoding by any of its names. It is refused if this system has no tables for it.
    static func encoding(_ text: String) throws(SettingProblem) -> TextEncoding {
        guard let encoding = TextEncoding(name: text) else {
            throw SettingProblem(
                problem: "has an unknown encoding",
                remedy: "Use a name such as utf8, latin1, windows-1251, koi8-r, gbk, big5, euc-kr or shift_jis.")
        }
        guard IconvTables.shared.have(encoding) else {
            throw SettingProblem(
                problem: "has an encoding that this system has no conversion for",
                remedy: "Install glibc's conversion modules (gconv), or use another encoding.")
        }
        return encoding
    }

    /// Each fault names its entry by number, and doesn't quote it.
    private static func targetErrors<Value>(
        _ problem: String, _ body: () throws(TargetFaults) -> Value
    ) throws(SettingProblem) -> Value {
        do throws(TargetFaults) {
            return try body()
        } catch {
            let reasons = error.entries.map { entry in
                (entry.number.map { "entry \($0): " } ?? "") + "\(entry.fault)"
            }
            throw SettingProblem(problem: problem, remedy: "It says: " + reasons.joined(separator: "; ") + ".")
        }
    }

    static func pins(_ text: String) throws(SettingProblem) -> [PublicKeyPin] {
        let elements = try list(text)
        let pins = elements.compactMap { PublicKeyPin(base64: $0) }
        guard pins.count == elements.count else {
            throw SettingProblem(
                problem: "holds something that isn't a pin",
                remedy: "Write the SHA-256 of a public key (SPKI) in base64: 44 characters that end with `=`.")
        }
        return pins
    }

    static func addressRanges(_ text: String) throws(SettingProblem) -> [AddressRange] {
        let elements = try list(text)
        var ranges: [AddressRange] = []
        for (index, element) in elements.enumerated() {
            guard let range = AddressRange(element) else {
                throw SettingProblem(
                    problem: "holds something that isn't an address range",
                    remedy:
                        "It is entry \(index + 1). Write addresses like `192.0.2.1`, or ranges like `10.0.0.0/8` and"
                        + " `2001:db8::/32`, with zeros after the prefix.")
            }
            ranges.append(range)
        }
        return ranges
    }
}
