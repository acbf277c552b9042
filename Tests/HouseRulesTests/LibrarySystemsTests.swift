import Testing

/// The libraries are for iOS 15 and macOS 13 too, on which none of the tests run: so they use nothing that is newer, or
/// that Apple's systems lack.
@Suite("What the libraries need of a system")
struct LibrarySystemsTests {
    private static let libraries = [
        "AppAttest", "DPoP", "CBOR", "WireText", "StrictJSON", "StrictDER", "WebAuthn", "RequestErrors",
    ]

    /// What an app's system or packages have.
    private static let modules: Set = ["Crypto", "CryptoExtras", "X509", "SwiftASN1", "Foundation"]

    /// Names of the standard library that came after iOS 15 or macOS 13.
    private static let newer: Set = [
        "Mutex", "Atomic", "AtomicLazyReference", "UTF8Span", "utf8Span", "InlineArray", "Int128", "UInt128",
        "Duration", "Clock", "ContinuousClock", "SuspendingClock", "Regex", "RegexBuilder", "firstMatch", "wholeMatch",
        "prefixMatch", "replacing", "firstRange", "trimmingPrefix", "DiscardingTaskGroup", "TaskExecutor",
        "StaticBigInt", "validating", "Observable", "OSAllocatedUnfairLock",
    ]

    private static func findings(in file: SourceFile) -> [String] {
        let allowed = modules.union(libraries)
        let imports = HouseRules.imports(of: file, on: .apple).filter { !allowed.contains($0.text) }
        let names = file.swift.tokens(on: .apple).filter { newer.contains($0.text) }
        return imports.map { file.finding(line: $0.line, "no module of iOS 15 and macOS 13: \($0.text)") }
            + names.map { file.finding(line: $0.line, "newer than iOS 15 or macOS 13: \($0.text)") }
    }

    @Test func `iOS 15 and macOS 13 have all that they import and name`() {
        // What is for apps alone has rules of its own, in PortcullisClientTests.
        let room = Set(Repository.sources.filter { $0.room == "Libraries" }.map(\.target))
        #expect(room.subtracting(["PortcullisClient", "PortcullisClientNIO"]) == Set(Self.libraries))
        let files = Repository.sources.filter { Self.libraries.contains($0.target) }
        #expect(files.flatMap(Self.findings) == [])
    }

    @Test func `the rule finds what is newer, and what only Linux has`() {
        func findings(_ text: String) -> Int {
            Self.findings(in: SourceFile(path: "Sources/Libraries/DPoP/A.swift", text: text)).count
        }
        for text in [
            "import Synchronization", "import FoundationEssentials", "import Glibc", "let a = Mutex(1)",
            "let b = text.utf8Span", "#if canImport(Darwin)\nimport Synchronization\n#endif",
            "#if !canImport(Darwin)\n#else\nimport Observation\n#endif",
            "#if canImport(Other)\nimport Synchronization\n#endif",
            "#if canImport(FoundationEssentials)\nimport FoundationEssentials\n#endif\nimport Synchronization",
        ] {
            #expect(findings(text) == 1, "\(text)")
        }
        for text in [
            "import Foundation", "import StrictJSON", "// Mutex", "let a = \"Mutex\"",
            "#if !canImport(Darwin)\nimport Synchronization\n#endif",
            "#if canImport(Darwin)\nimport Foundation\n#else\nimport Synchronization\nlet a = Mutex(1)\n#endif",
            "#if canImport(FoundationEssentials)\nimport FoundationEssentials\n#else\nimport Foundation\n#endif",
            "#if canImport(Darwin)\n#if DEBUG\n#endif\n#else\nlet b = text.utf8Span\n#endif",
        ] {
            #expect(findings(text) == 0, "\(text)")
        }
    }

    @Test func `what Linux compiles is what the table of imports is about`() {
        func imports(_ text: String) -> [String] {
            HouseRules.imports(of: SourceFile(path: "Sources/Libraries/DPoP/A.swift", text: text)).map(\.text)
        }
        #expect(imports("#if canImport(Darwin)\nimport A\n#else\nimport B\n#endif\nimport C") == ["B", "C"])
        #expect(imports("#if canImport(FoundationEssentials)\nimport A\n#else\nimport B\n#endif") == ["A"])
        #expect(imports("#if os(Linux)\nimport A\n#else\nimport B\n#endif") == ["A", "B"])
        #expect(imports("#if canImport(Darwin)\n#if DEBUG\nimport A\n#else\nimport B\n#endif\nimport C\n#endif") == [])
    }

    @Test func `Package.swift says so`() throws {
        let package = try Repository.text("Package.swift")
        #expect(package.contains(".iOS(.v15)") && package.contains(".macOS(.v13)"))
    }
}
