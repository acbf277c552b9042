import Foundation
import Testing

/// Every script handles its options before it inspects the machine, builds or creates anything.
@Suite("The scripts' options")
struct ScriptOptionsTests {
    static let scripts = [
        "run", "test", "make-dev-certs", "fuzz-edge", "try-with-mud", "try-with-evennia", "try-with-autobahn", "soak",
        "attack", "bench", "bench-fleet", "fleet", "fuzz", "bench-micro", "try-clients", "test-on", "try-with-nginx",
        "try-copyover", "package", "try-package", "try-container", "try-client", "check-app-attest", "try-libraries",
        "try-fleet", "try-documents", "try-passkeys", "bench-client",
    ]

    @Test func `are tested for every script`() throws {
        let folder = Repository.root.appendingPathComponent("scripts").path
        let found = try FileManager.default.contentsOfDirectory(atPath: folder).filter { !$0.contains(".") }
        #expect(found.sorted() == Self.scripts.sorted())
    }

    @Test(arguments: scripts, ["-h", "--help"])
    func `-h and --help show the usage, and nothing else happens`(script: String, option: String) throws {
        let shown = try call(script, option, keeping: "2>/dev/null")
        #expect(shown.status == 0)
        #expect(shown.output.contains("\n  usage: scripts/\(script) ") && !shown.output.contains("\(script): "))
    }

    @Test(
        arguments: scripts,
        [
            ["--bogus"], ["extra"], ["--once", "--bogus"], ["--short", "x"], ["--force", "-x"], ["--no-parallel", "y"],
        ])
    func `an unknown option, or an argument too many, is refused with 64 and the usage on standard error`(
        script: String, arguments: [String]
    ) throws {
        let words = arguments.joined(separator: " ")
        let refused = try call(script, words, keeping: "2>&1 >/dev/null")
        #expect(refused.status == 64)
        #expect(refused.output.hasPrefix("\(script): error: unknown argument "))
        #expect(refused.output.contains("\n  usage: scripts/\(script) "))
        #expect(try call(script, words, keeping: "2>/dev/null").output.isEmpty)
    }

    @Test(arguments: [
        ("test", "--filter"), ("test-on", "--suite"), ("package", "--revision"), ("package", "--suite"),
        ("package", "--suffix"), ("package", "--jobs"),
        ("try-package", "--suite"), ("try-documents", "--suite"), ("make-dev-certs", "--out"),
        ("attack", "--only"),
        ("bench", "--only"), ("bench", "--out"), ("fuzz", "--only"), ("bench-micro", "--filter"),
        ("bench-client", "--bin"),
        ("try-with-nginx", "--proxy"),
    ])
    func `an option without its value is refused in the same way`(script: String, option: String) throws {
        let refused = try call(script, option, keeping: "2>&1 >/dev/null")
        #expect(refused.status == 64 && refused.output.contains("\(option) needs a value"))
    }

    /// From another folder, with a time limit and no Swift in the path: a script that went on would not get far.
    private func call(_ script: String, _ words: String, keeping redirection: String) throws -> (
        status: Int32, output: String
    ) {
        let path = Repository.root.appendingPathComponent("scripts/\(script)").path
        let command = "timeout 20 env -i PATH=/usr/bin:/bin HOME=/nonexistent '\(path)' \(words) \(redirection)"
        return try #require(run("bash", ["-c", command], in: URL(fileURLWithPath: "/")))
    }
}
