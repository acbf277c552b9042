import Foundation

/// The rule that text of a peer is never compared, hashed, switched over, split or searched as `String`, `Substring` or
/// `Character`, which normalise it in quadratic time: see `ByteText`.
///
/// It is applied to compiled code, where a comparison shows whatever the source looks like: as an operator, a `switch`,
/// a dictionary's key, a derived conformance or an element of an array. Files whose texts are no peer's are in
/// ``TextComparisonTable``.
enum TextComparisons {
    /// Symbols of the standard library, by what they are.
    static let forbidden: [String: String] = [
        "$sSS2eeoiySbSS_SStFZ": "String ==",
        "$sSSSHsWP": "String as Hashable", "$sSSSQsWP": "String as Equatable", "$sSSSLsWP": "String as Comparable",
        "$sSSSTsWP": "String as a sequence of Characters", "$sSSSlsWP": "String as a collection of Characters",
        "$sSSSKsWP": "String as a collection of Characters", "$sSSSmsWP": "String as a collection of Characters",
        "$sSsSHsWP": "Substring as Hashable", "$sSsSQsWP": "Substring as Equatable",
        "$sSsSLsWP": "Substring as Comparable", "$sSsSTsWP": "Substring as a sequence of Characters",
        "$sSsSKsWP": "Substring as a collection of Characters", "$sSsSlsWP": "Substring as a collection of Characters",
        "$sSJSHsWP": "Character as Hashable", "$sSJSQsWP": "Character as Equatable",
        "$sSJSLsWP": "Character as Comparable", "$sSJ2eeoiySbSJ_SJtFZ": "Character ==",
        "$sSJ1loiySbSJ_SJtFZ": "Character <", "$sSS1loiySbSS_SStFZ": "String <",
        "$sSysE2eeoiySbx_qd__tSyRd__lFZ": "StringProtocol ==",
        "$ss21_findStringSwitchCase5cases6stringSiSays06StaticB0VG_SStF": "switch over a String",
        "$sSS9hasPrefixySbSSF": "hasPrefix", "$sSS9hasSuffixySbSSF": "hasSuffix",
        "$sSysE9hasPrefixySbqd__SyRd__lF": "hasPrefix", "$sSysE9hasSuffixySbqd__SyRd__lF": "hasSuffix",
        "$sSysE9hasPrefixySbxF": "hasPrefix", "$sSysE9hasSuffixySbxF": "hasSuffix",
        "$sSS10lowercasedSSyF": "lowercased", "$sSS10uppercasedSSyF": "uppercased", "$sSS5countSivg": "count",
        "$sSS4hash4intoys6HasherVz_tF": "String's hash",
    ].merging(accessors) { first, _ in first }

    /// The functions through which generic code finds the same conformances.
    private static let accessors: [String: String] = {
        var accessors: [String: String] = [:]
        for (letters, role) in [
            ("SH", "Hashable"), ("SQ", "Equatable"), ("SL", "Comparable"), ("ST", "a sequence of Characters"),
            ("Sl", "a collection of Characters"), ("SK", "a collection of Characters"),
            ("Sm", "a collection of Characters"),
        ] {
            accessors["$sS2S\(letters)sWl"] = "String as \(role)"
            accessors["$sS2s\(letters)sWl"] = "Substring as \(role)"
        }
        return accessors
    }()

    /// What one use of a symbol is; nil if it is allowed everywhere.
    static func kind(of symbol: String) -> String? {
        if let kind = forbidden[symbol] { return kind }
        // `Enum(rawValue: text)`: it compares the text with the raw values.
        if isRawValueInitializer(symbol) { return "init(rawValue:) with a String" }
        return symbol.contains("11JSONDecoderC") ? "JSONDecoder" : nil
    }

    private static func isRawValueInitializer(_ symbol: String) -> Bool {
        symbol.hasSuffix("SgSS_tcfC") && symbol.contains("8rawValue")
    }

    /// Code that the compiler derives, and that compares nothing by itself: witnesses (`TW`) and their accessors (`Wl`)
    /// lead to functions that are examined; names of coding keys are the code's own; so are the raw values of an enum,
    /// whose uses are examined; the keys of a log line's metadata are constants.
    static func isDerived(_ function: String, _ kind: String) -> Bool {
        function.hasSuffix("TW") || function.hasSuffix("Wl") || function.contains("11stringValue")
            || isRawValueInitializer(function) || function.hasSuffix("8rawValueSSvg")
            || kind == "String as Hashable" && function.contains("13MetadataValueO")
    }

    /// The findings in one compiled file: what it does, sorted and without repetition.
    static func findings(in object: ObjectFile) -> [String] {
        let uses = object.references { kind(of: $0) != nil }.compactMap { use -> String? in
            guard let kind = kind(of: use.symbol), !isDerived(use.function, kind) else { return nil }
            return "\(kind) in \(use.function)"
        }
        return Set(uses).sorted()
    }

    // MARK: Compiled files

    /// The folder with the compiled files of the running tests: the one that their program is in.
    static let folder = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()

    /// The compiled file of a source; nil if it wasn't compiled on its own, as in a build with optimisation.
    static func object(of source: SourceFile) -> ObjectFile? {
        let target = source.target.replacingOccurrences(of: "-", with: "_")
        let name = source.path.split(separator: "/").last.map { "\($0).o" } ?? ""
        let path = folder.appendingPathComponent("\(target).build").appendingPathComponent(name)
        return (try? Data(contentsOf: path, options: .alwaysMapped)).flatMap(ObjectFile.init)
    }
}
