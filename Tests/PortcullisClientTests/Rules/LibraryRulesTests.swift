import Foundation
import Testing

@testable import PortcullisClient

/// What makes the library fit for apps, as far as its text shows it. Each rule is tried on a line that breaks it.
@Suite("The library's rules")
struct LibraryRulesTests {
    private static let files =
        RepositoryText.swiftFiles(below: "Sources/Libraries/PortcullisClient")
        + RepositoryText.swiftFiles(below: "Sources/Libraries/PortcullisClientNIO")

    /// Names that iOS 15 and macOS 13 don't have, or that need a newer runtime. Linux checks no availability.
    private static let newer = [
        "import Synchronization", "import _StringProcessing", "import RegexBuilder", "import Observation", "Mutex<",
        "Mutex(", "Atomic<",
        "OSAllocatedUnfairLock", "ContinuousClock", "SuspendingClock", "Duration", ".sleep(for:", ".sleep(until:",
        "makeStream(", "withDiscardingTaskGroup", "withThrowingDiscardingTaskGroup", "Task.immediate", "TaskExecutor",
        "isolated deinit", "InlineArray", "Span<", "RawSpan", "String(validating:", "Regex", "firstMatch(of",
        "wholeMatch(of", ".replacing(",
        ".firstRange(of", "URL(filePath", ".appending(path", ".appending(component", ".host()", ".path()", ".query()",
        "percentEncoded:", "FormatStyle", ".formatted(", "any AsyncSequence<", "some AsyncSequence<", "next(isolation",
        "Clock<", "any Clock",
        "weak let", "@Observable", "AsyncBytes", "ParallelizationTrait", "Array(capacity:",
    ]

    /// A line, with its code alone: no comment and no text between quotation marks.
    private static func code(_ line: Substring) -> String {
        let text = line.drop { $0 == " " }
        guard !text.hasPrefix("//") else { return "" }
        return line.components(separatedBy: " // ")[0]
    }

    private static func newerNames(in text: String) -> [String] {
        text.split(separator: "\n").map(code).flatMap { code in newer.filter { code.contains($0) } }
    }

    @Test func `nothing newer than iOS 15 and macOS 13 is used`() {
        #expect(Self.files.count > 60)
        for file in Self.files { #expect(Self.newerNames(in: file.text) == [], "\(file.path)") }
        for name in Self.newer { #expect(Self.newerNames(in: "let a = \(name)x").contains(name)) }
        #expect(Self.newerNames(in: "/// A Duration\n    // Mutex<Int>") == [])
    }

    @Test func `the package names these systems`() throws {
        let manifest = try RepositoryText.read("Package.swift")
        #expect(manifest.contains(".macOS(.v13)") && manifest.contains(".iOS(.v15)"))
    }

    /// Types whose safety the compiler can't see, each with its reason in the source.
    private static let unchecked = ["Sources/Libraries/PortcullisClient/Platform/Locked.swift"]

    @Test func `only the listed types are unchecked`() {
        for word in ["@unchecked", "nonisolated(unsafe)", "@preconcurrency", "assumeIsolated", "unsafeBitCast"] {
            let found = Self.files.filter { file in
                file.text.split(separator: "\n").contains { Self.code($0).contains(word) }
            }
            #expect(found.map(\.path) == (word == "@unchecked" ? Self.unchecked : []), "\(word)")
        }
    }

    /// The core decides: it gets time and chance as arguments.
    private static let impure = [
        "import ", "Date(", "Date.now", ".now()", "ClientClock", "Task ", "Task{", "Task.", "async ", "await ",
        ".random(in", "UUID()", "ProcessInfo",
        "FileManager", "print(", "Thread", "Dispatch", "URLSession", "getenv",
    ]

    @Test func `the folder Core is pure`() {
        let core = Self.files.filter { $0.path.contains("/Core/") }
        #expect(core.count > 20)
        for file in core {
            for line in file.text.split(separator: "\n") {
                let code = Self.code(line)
                #expect(!Self.impure.contains { code.contains($0) }, "\(file.path): \(line)")
            }
        }
        #expect(Self.impure.contains { Self.code("import Foundation").contains($0) })
    }

    @Test func `nothing of the gateway is imported`() throws {
        let sources = RepositoryText.root.appendingPathComponent("Sources")
        let ours = try FileManager.default.contentsOfDirectory(atPath: sources.path).flatMap { room in
            try FileManager.default.contentsOfDirectory(atPath: sources.appendingPathComponent(room).path)
        }
        #expect(ours.contains("Admission") && ours.contains("AppAttest"))
        for file in Self.files {
            for module in ours where module != "PortcullisClient" {
                #expect(!file.text.contains("import \(module)\n"), "\(file.path)")
            }
        }
    }

    @Test func `trust without a check and client certificates exist in debug builds alone`() {
        for name in ["acceptsAnyCertificate", "clientCertificate", "ClientCertificate("] {
            for file in Self.files {
                var isDebug = false
                for line in file.text.split(separator: "\n") {
                    let words = line.drop { $0 == " " }
                    if words == "#if DEBUG" { isDebug = true }
                    if words == "#endif" { isDebug = false }
                    guard Self.code(line).contains(name), !line.contains("case clientCertificate"),
                        !line.contains("case .clientCertificate")
                    else { continue }
                    #expect(isDebug, "\(file.path): \(line)")
                }
            }
        }
    }

    @Test func `the example app has at most 200 lines, and uses the products alone`() throws {
        let files = RepositoryText.swiftFiles(below: "Tests/Examples/ClientExample/Sources")
        let lines = files.reduce(0) { $0 + $1.text.split(separator: "\n", omittingEmptySubsequences: false).count - 1 }
        #expect(lines > 100 && lines <= 200, "\(lines)")
        let imports = files.flatMap { $0.text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) } }
            .filter { $0.hasPrefix("import ") }
        #expect(Set(imports) == ["import Foundation", "import PortcullisClient", "import PortcullisClientNIO"])
    }

    // MARK: Errors

    private static let catalogue = "Sources/Libraries/PortcullisClient/PortcullisClient.docc"

    @Test func `the table of reactions, the article and the gateway's list have the same codes`() throws {
        let gateway = Set(
            try RepositoryText.rows("docs/PROTOCOL.md", section: "## All refusals").dropFirst().map { $0[1] })
        #expect(gateway.count > 40)
        let table = RecoveryTable.reactions.map(\.code)
        #expect(Set(table) == gateway && table.count == gateway.count)
        let article = try RepositoryText.rows("\(Self.catalogue)/Errors.md", section: "## Codes of the gate")
            .dropFirst()
        let listed = article.map { "\($0[0]) \($0[1])" }.sorted()
        #expect(listed == RecoveryTable.reactions.map { "\($0.code) \($0.reaction.rawValue)" }.sorted())
    }

    /// Each refusal as the gateway answers it, against the reaction that the table promises.
    @Test func `every refusal of the gateway has the reaction of the table`() throws {
        for row in try RepositoryText.rows("docs/PROTOCOL.md", section: "## All refusals").dropFirst() {
            let (status, code, text) = (try #require(Int(row[0])), row[1], row[2])
            let body =
                #"{"error":"\#(text)","error_description":"\#(code): \#(text)","code":"\#(code)","requestId":"r"}"#
            let inFull = RefusalReader.refusal(
                status: status, header: { _ in nil }, body: Array(body.utf8), maximumBytes: 65_536)
            // On Apple's systems an upgrade has no body.
            let byHeader = RefusalReader.refusal(
                status: status, header: { $0 == "x-refusal-code" ? code : nil }, body: [], maximumBytes: 65_536)
            let promised = RecoveryTable.reactions.first { $0.code == code }?.reaction
            // These words ask for a new key, whatever the code is.
            let expected = text == "registration required" ? .newKey : promised
            #expect(inFull.reaction == expected && byHeader.reaction == promised, "\(row)")
            let error = GateError.refused(inFull)
            #expect(error.code == code && error.requestId == "r" && !error.userMessage.isEmpty)
        }
    }

    @Test func `every reaction is explained in the article`() throws {
        let rows = try RepositoryText.rows("\(Self.catalogue)/Errors.md", section: "## Reactions").dropFirst()
        #expect(Set(rows.map { $0[0] }) == Set(Reaction.allCases.map(\.rawValue)))
    }
}
