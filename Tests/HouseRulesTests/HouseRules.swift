/// The rules as functions from a file to what is wrong with it, so that each can be tried on a sample that breaks it.
enum HouseRules {
    /// The modules of all import lines, with their lines. `import struct Foundation.Data` is an import of Foundation.
    static func imports(of file: SourceFile, on system: CompiledSystem = .linux) -> [SwiftText.Token] {
        let kinds: Set = ["struct", "class", "enum", "protocol", "func", "var", "let", "typealias", "actor"]
        let tokens = file.swift.tokens(on: system)
        return tokens.indices.compactMap { index in
            guard tokens[index].text == "import" else { return nil }
            var next = index + 1
            if next < tokens.count, kinds.contains(tokens[next].text) { next += 1 }
            guard next < tokens.count else { return nil }
            // A module's name has no hyphen or similar character: an import names one word.
            return SwiftText.Token(text: tokens[next].text, line: tokens[index].line)
        }
    }

    static func importsOutsideTheTable(_ file: SourceFile) -> [String] {
        guard let row = ImportTable.row(of: file.target) else {
            return [file.finding(line: 1, "the target \(file.target) has no row in ImportTable")]
        }
        return imports(of: file).filter { !row.allows($0.text) }.map {
            file.finding(line: $0.line, "\(file.target) may not import \($0.text)")
        }
    }

    /// `@_exported` hands an import on, past the table.
    static func exportedImports(_ file: SourceFile) -> [String] {
        file.swift.lines(of: ["@", "_exported"]).map { file.finding(line: $0, "an import is exported") }
    }

    /// A type named like its module makes every qualified name of that module ambiguous.
    static func typesNamedLikeTheirModule(_ file: SourceFile) -> [String] {
        ["struct", "class", "enum", "actor", "protocol", "typealias"].flatMap { kind in
            file.swift.lines(of: [kind, file.target]).map { file.finding(line: $0, "a type has its module's name") }
        }
    }

    /// The library products.
    static let libraries: Set = [
        "AppAttest", "DPoP", "PortcullisClient", "PortcullisClientNIO", "RequestErrors", "WebAuthn",
    ]

    /// Declarations used by our other targets are `package`; only the library products are public.
    static func publicOutsideLibraries(_ file: SourceFile) -> [String] {
        guard file.isSource, !libraries.contains(file.target) else { return [] }
        return ["public", "open"].flatMap { word in
            file.swift.lines(of: [word]).filter { line in isModifier(word, on: line, of: file) }
                .map { file.finding(line: $0, "\(word) stands outside the library products") }
        }
    }

    /// `open` is also a function of the C library: as a modifier it has a declaration behind it.
    private static func isModifier(_ word: String, on line: Int, of file: SourceFile) -> Bool {
        word == "public"
            || ["class", "func", "var", "subscript"].contains {
                !file.swift.lines(of: [word, $0]).filter { $0 == line }.isEmpty
            }
    }

    /// What a pure target gets as an argument or leaves to others. `.now()` and the like of Foundation's Date need no
    /// entry of their own: they aren't found without the type.
    static let impurities: [(pattern: [String], what: String)] = [
        (["Date", "(", ")"], "reads the clock"), (["Date", ".", "now"], "reads the clock"),
        (["ContinuousClock"], "reads the clock"), (["SuspendingClock"], "reads the clock"),
        (["clock_gettime"], "reads the clock"), (["gettimeofday"], "reads the clock"),
        (["DispatchTime"], "reads the clock"), (["ProcessInfo"], "reads the environment"),
        (["getenv"], "reads the environment"), (["CommandLine"], "reads the environment"),
        (["FileManager"], "does I/O"), (["FileHandle"], "does I/O"), (["print", "("], "does I/O"),
        (["Thread"], "starts a thread"), (["DispatchQueue"], "starts a thread"), (["Task", "{"], "starts a task"),
        (["Task", "(", "priority"], "starts a task"), (["Task", ".", "detached"], "starts a task"),
        (["Task", ".", "sleep"], "waits"),
    ]

    static func impurities(of file: SourceFile) -> [String] {
        guard file.isSource, ImportTable.row(of: file.target)?.isPure == true else { return [] }
        return impurities.flatMap { impurity in
            file.swift.lines(of: impurity.pattern).map {
                file.finding(line: $0, "a pure target \(impurity.what): \(impurity.pattern.joined())")
            }
        }
    }

    /// A test is named by a sentence between backticks. A second name in `@Test("…")` would say the same or something
    /// else.
    static func testsOfOtherNames(_ file: SourceFile) -> [String] {
        let tokens = file.swift.tokens
        return tokens.indices.dropLast().filter { tokens[$0].text == "@" && tokens[$0 + 1].text == "Test" }
            .compactMap { start in
                let rest = tokens[(start + 2)...]
                // Strings are no tokens: a display name is nothing before the first comma or the end.
                if rest.first?.text == "(", let next = rest.dropFirst().first?.text, [")", ","].contains(next) {
                    return file.finding(line: tokens[start].line, "a test has a display name")
                }
                let name = rest.drop { $0.text != "func" }.dropFirst().first?.text ?? ""
                guard !name.hasPrefix("`") || !name.contains(" ") else { return nil }
                return file.finding(line: tokens[start].line, "the name \(name) is no sentence between backticks")
            }
    }

    static let maximumLines = 400
    /// The mark of a longer file, followed by its reason.
    static let longFileExcuse = "// Long because:"

    static func tooLong(_ file: SourceFile) -> [String] {
        let lines = file.text.utf8.count { $0 == UInt8(ascii: "\n") }
        guard lines > maximumLines, !file.text.contains(longFileExcuse) else { return [] }
        return [file.finding(line: lines, "more than \(maximumLines) lines, without a line `\(longFileExcuse) …`")]
    }

    static let maximumColumns = 120

    /// The formatter wraps code, and leaves comments as they are.
    static func wideComments(_ file: SourceFile) -> [String] {
        file.text.split(separator: "\n", omittingEmptySubsequences: false).enumerated().filter { _, line in
            line.drop { $0 == " " }.hasPrefix("//") && line.unicodeScalars.count > maximumColumns
        }.map { file.finding(line: $0.offset + 1, "a comment is wider than \(maximumColumns) columns") }
    }

    /// Work that isn't done has an issue, not a mark.
    static let marks: Set = ["TODO", "FIXME", "XXX"]

    static func marks(in file: SourceFile) -> [String] {
        file.swift.commentWords.filter { marks.contains($0.text) }.map {
            file.finding(line: $0.line, "a mark: \($0.text)")
        }
    }

    /// Files that git must not hold: what a build or a run makes, and what is secret.
    static func untrackable(_ paths: [String]) -> [String] {
        let endings = [".key", ".p12", ".srl", ".sqlite", ".sqlite-wal", ".sqlite-shm", ".env", ".o", ".swiftmodule"]
        return paths.filter { path in
            let parts = path.split(separator: "/").map(String.init)
            return endings.contains { path.hasSuffix($0) } || parts.last == "Package.resolved"
                || parts.contains { $0 == ".build" || $0.hasPrefix(".build-") || $0 == ".swiftpm" }
                || path.hasPrefix("certs/dev/")
                // A compiler's; C's own headers are in folders.
                || (parts.count == 1 && path.hasSuffix(".h"))
        }
    }

    /// True for a PEM private key with its contents, not for the mere words.
    static func holdsPrivateKey(_ text: String) -> Bool {
        let lines = text.split(separator: "\n").map { $0.drop { $0 == " " } }
        return zip(lines, lines.dropFirst()).contains { line, next in
            line.hasPrefix("-----BEGIN ") && line.contains("PRIVATE KEY-----")
                && next.count >= 40
                && next.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "+/=".contains($0)) }
        }
    }
}
