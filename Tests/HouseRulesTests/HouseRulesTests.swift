import Testing

/// Each rule is applied to the whole project, and tried on samples that break it.
@Suite("House rules")
struct HouseRulesTests {
    private func sample(_ text: String, in path: String = "Sources/Wire/Telnet/Sample.swift") -> SourceFile {
        SourceFile(path: path, text: text)
    }

    @Test func `the sources and the tests are found`() {
        #expect(Repository.sources.contains { $0.path == "Sources/Store/KeyStore/KeyID.swift" })
        #expect(Repository.tests.contains { $0.path == "Tests/HouseRulesTests/HouseRulesTests.swift" })
    }

    @Test func `targets import only what the table allows`() {
        #expect(Repository.sources.flatMap(HouseRules.importsOutsideTheTable) == [])
        for line in [
            "import Foundation", "  package import Foundation", "@preconcurrency import Foundation",
            "import struct Foundation.Data", "#if canImport(Foundation)\nimport Foundation\n#endif", "import RelayCore",
            "public import Foundation.NSObject", "let x = 1; import Foundation",
        ] {
            #expect(HouseRules.importsOutsideTheTable(sample(line)).count == 1, "\(line)")
        }
        for line in [
            "// import Foundation", "let text = \"import Foundation\"", "/* import A\n /* import B */ import C */",
        ] {
            #expect(HouseRules.importsOutsideTheTable(sample(line)) == [], "\(line)")
        }
        #expect(
            HouseRules.importsOutsideTheTable(sample("import KeyStore", in: "Sources/Store/KeyStoreSQLite/A.swift"))
                == [])
        for path in ["Sources/Wire/Nowhere/A.swift", "Sources/Wire/A.swift", "Sources/A.swift"] {
            #expect(HouseRules.importsOutsideTheTable(sample("", in: path)).count == 1, "\(path)")
        }
    }

    @Test func `no pure target may import Foundation, a thread library or a C library`() {
        for row in ImportTable.rows where row.isPure {
            #expect(
                row.others.isDisjoint(with: ["Foundation", "Dispatch", "Glibc", "GRDB", "Logging"]), "\(row.target)")
        }
    }

    @Test func `Package.swift builds exactly the pure targets with the pure settings`() throws {
        let manifest = try Repository.text("Package.swift")
        #expect(manifest.matches(of: /swiftSettings: pureSettings/).count == 1, "one function makes pure targets")
        for row in ImportTable.rows {
            let isPure = manifest.contains(try Regex("\\bpure\\(\\s*\"\(row.target)\""))
            #expect(isPure == row.isPure, "\(row.target)")
            let isOther = manifest.contains(try Regex("\\b(target|program)\\(\\s*(name: )?\"\(row.target)\""))
            #expect(isOther != row.isPure, "\(row.target)")
        }
    }

    @Test func `no import is exported`() {
        #expect((Repository.sources + Repository.tests).flatMap(HouseRules.exportedImports) == [])
        #expect(HouseRules.exportedImports(sample("@_exported import Telnet")).count == 1)
    }

    @Test func `no module has a type with its own name`() {
        #expect(Repository.sources.flatMap(HouseRules.typesNamedLikeTheirModule) == [])
        for kind in ["struct", "final class", "enum", "actor", "protocol", "typealias"] {
            #expect(HouseRules.typesNamedLikeTheirModule(sample("package \(kind)\n  Telnet {}")).count == 1, "\(kind)")
        }
        #expect(HouseRules.typesNamedLikeTheirModule(sample("struct TelnetParser {} // struct Telnet")) == [])
    }

    @Test func `public is used only in the library products`() throws {
        #expect(Repository.sources.flatMap(HouseRules.publicOutsideLibraries) == [])
        #expect(HouseRules.publicOutsideLibraries(sample("public struct A {}")).count == 1)
        #expect(HouseRules.publicOutsideLibraries(sample("open class A {}")).count == 1)
        #expect(HouseRules.publicOutsideLibraries(sample("public import X")).count == 1)
        #expect(HouseRules.publicOutsideLibraries(sample("let file = open(path) // public")) == [])
        #expect(
            HouseRules.publicOutsideLibraries(sample("public struct A {}", in: "Sources/Libraries/AppAttest/A.swift"))
                == [])
        for library in HouseRules.libraries {
            #expect(try Repository.text("Package.swift").contains(".library(name: \"\(library)\""), "\(library)")
        }
    }

    @Test func `pure targets read no clock and no environment, do no I/O and start nothing`() {
        #expect(Repository.sources.flatMap(HouseRules.impurities(of:)) == [])
        for impurity in HouseRules.impurities {
            let code = "func f() { " + impurity.pattern.joined(separator: " ") + " }"
            #expect(HouseRules.impurities(of: sample(code)).count >= 1, "\(code)")
            #expect(HouseRules.impurities(of: sample(code, in: "Sources/Network/Reactors/A.swift")) == [])
            #expect(HouseRules.impurities(of: sample("// \(code)")) == [])
            #expect(HouseRules.impurities(of: sample("let s = \"\(code)\"")) == [])
            #expect(HouseRules.impurities(of: sample("let s = \"a \\(x { \(code) }) b\"")).count >= 1, "\(code)")
        }
        #expect(HouseRules.impurities(of: sample("let a: ThreadCount = Date(timeIntervalSince1970: 0)")) == [])
    }

    @Test func `files have at most 400 lines or a reason`() {
        #expect((Repository.sources + Repository.tests).flatMap(HouseRules.tooLong) == [])
        let atLimit = String(repeating: "let a = 1\n", count: HouseRules.maximumLines)
        #expect(HouseRules.tooLong(sample(atLimit)) == [])
        #expect(HouseRules.tooLong(sample(atLimit + "\n")).count == 1)
        #expect(HouseRules.tooLong(sample("// Long because: a table.\n" + atLimit)) == [])
    }

    @Test func `comments are wrapped at 120 columns`() {
        #expect((Repository.sources + Repository.tests).flatMap(HouseRules.wideComments) == [])
        let atLimit = "    /// " + String(repeating: "é", count: HouseRules.maximumColumns - 8)
        #expect(HouseRules.wideComments(sample(atLimit)) == [])
        #expect(HouseRules.wideComments(sample("let a = 1\n\(atLimit).\n")).count == 1)
        #expect(HouseRules.wideComments(sample("let a = \"\(atLimit).\"")) == [])
    }

    @Test func `every test is named by a sentence between backticks`() {
        #expect(Repository.tests.contains { !$0.swift.lines(of: ["@", "Test"]).isEmpty })
        #expect(Repository.tests.flatMap(HouseRules.testsOfOtherNames) == [])
        let name = "`a name has words`"
        for test in [
            "@Test func nameWithoutSpaces() {}", "@Test func `name`() {}", "@Test(\"a name\") func \(name)() {}",
            "@Test(\n\"a name\", arguments: [1])\nfunc \(name)(a: Int) {}",
            "@Test(arguments: [1]) func name(a: Int) {}",
        ] {
            #expect(HouseRules.testsOfOtherNames(sample(test)).count == 1, "\(test)")
        }
        for test in [
            "@Test func \(name)() {}", "@Test(.enabled(if: true), arguments: [f(1)])\nfunc \(name)(a: Int) {}",
            "@Test @MainActor func \(name)() {}", "// @Test func name() {}", "@Testable func name() {}",
        ] {
            #expect(HouseRules.testsOfOtherNames(sample(test)) == [], "\(test)")
        }
    }

    @Test func `no comment marks work as undone`() {
        #expect((Repository.sources + Repository.tests).flatMap(HouseRules.marks(in:)) == [])
        for mark in HouseRules.marks {
            for comment in ["// \(mark): later", "/* a \(mark) */", "let a = 1 // \(mark)", "/// \(mark)(me) say more"]
            {
                #expect(HouseRules.marks(in: sample(comment)).count == 1, "\(comment)")
            }
            #expect(HouseRules.marks(in: sample("let a = \"\(mark)\" // \(mark)S")) == [])
        }
    }
}

@Suite("The reader of Swift text")
struct SwiftTextTests {
    private func words(_ source: String) -> [String] { SwiftText(source).tokens.map(\.text) }

    @Test func `leaves out strings of every kind, and keeps interpolations`() {
        #expect(words(#"a "b \" c" d"#) == ["a", "d"])
        #expect(words("a \"\"\"\n b \"quoted\" c\n\"\"\" d") == ["a", "d"])
        #expect(words(##"a #"b " \(c) \#(d)"# e"##) == ["a", "d", "e"])
        #expect(words(##"a #"""# b"##) == ["a", "b"])
        #expect(words(#"a "b \(c["d"] ?? f("\(g)")) h" i"#) == ["a", "c", "[", "]", "?", "?", "f", "(", "g", ")", "i"])
    }

    @Test func `keeps a name between backticks whole`() {
        #expect(words("a `b \\c // 'd` e ` f") == ["a", "`b \\c // 'd`", "e", "`", "f"])
    }

    @Test func `leaves out comments, also nested ones, and counts lines`() {
        let text = SwiftText("a // b\n/* c /* d */ e\n */ f \"//\" g")
        #expect(text.tokens == [.init(text: "a", line: 1), .init(text: "f", line: 3), .init(text: "g", line: 3)])
        #expect(text.commentWords.map(\.text) == ["b", "c", "d", "e"])
        #expect(text.commentWords.map(\.line) == [1, 2, 2, 2])
    }

    @Test(arguments: ["\"", "\"\"\"", "#\"", "/*", "\"\\(", "\"\\", "(", ")", "//", "#", ""])
    func `terminates on unterminated text`(source: String) {
        #expect(SwiftText("a " + source).tokens.first?.text == "a")
    }
}
