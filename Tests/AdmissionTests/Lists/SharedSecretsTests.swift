import Testing
import WireText

@testable import Admission

struct SharedSecretsTests {
    private static let secret = "correct-horse-battery-staple-0001"

    private func refusal(of text: String) -> OperatorListError? {
        do throws(OperatorListError) {
            _ = try SharedSecrets(text)
            return nil
        } catch {
            return error
        }
    }

    private func line(_ name: String, _ secret: String = secret) -> String { secretLine(name, secret) }

    @Test func `secrets have their names, in the file's order`() throws {
        let text =
            "# ours\n\n" + line("b") + "  # until May\r\n\t" + line("A.1_x-y", "another secret of more than 32 bytes")
        let secrets = try SharedSecrets(text)
        #expect(secrets.names == ["b", "A.1_x-y"])
        #expect(secrets.secret(shownAs: Self.secret)?.name == "b")
        #expect(secrets.secret(shownAs: "another secret of more than 32 bytes")?.name == "A.1_x-y")
    }

    @Test func `digits of the hash may be of either case`() throws {
        let text = "a sha256:" + line("a").dropFirst("a sha256:".count).uppercased()
        #expect(try SharedSecrets(text) == SharedSecrets(line("a")))
    }

    @Test(arguments: [
        "a", "a sha256:", "sha256:", "a \(String(repeating: "0", count: 64))",
        "a sha256:\(String(repeating: "0", count: 63))", "a sha256:\(String(repeating: "0", count: 65))",
        "a sha256:\(String(repeating: "g", count: 64))", "a SHA256:\(String(repeating: "0", count: 64))",
        "a sha512:\(String(repeating: "0", count: 64))", "a b sha256:\(String(repeating: "0", count: 64))",
        "ä sha256:\(String(repeating: "0", count: 64))", "a/b sha256:\(String(repeating: "0", count: 64))",
        "a: sha256:\(String(repeating: "0", count: 64))", "a sha256: \(String(repeating: "0", count: 64))",
        "a sha256:\(String(repeating: "0", count: 64)) x",
    ])
    func `a line of another form is refused with its number`(line: String) {
        let error = refusal(of: "# first\n\(self.line("good"))\n\n" + line + "\n")
        #expect(error?.line == 4)
        #expect(error?.problem.contains("000") == false, "it doesn't repeat the line")
    }

    @Test func `a name occurs once and has a maximum length`() {
        #expect(refusal(of: line("a") + "\n" + line("a", "x"))?.line == 2)
        #expect(refusal(of: line("a") + "\n" + line("A")) == nil)
        #expect(refusal(of: line(String(repeating: "n", count: 64))) == nil)
        #expect(refusal(of: line(String(repeating: "n", count: 65)))?.line == 1)
    }

    @Test func `a file has 1 to 64 secrets`() throws {
        for text in ["", "\n\n", "# nothing\n"] { #expect(refusal(of: text) != nil && refusal(of: text)?.line == nil) }
        let full = (1...64).map { line("s\($0)") }.joined(separator: "\n")
        #expect(try SharedSecrets(full).names.count == 64)
        #expect(refusal(of: full + "\n" + line("s65"))?.line == 65)
    }

    @Test func `the presented secret must match exactly`() throws {
        let secrets = try SharedSecrets(line("a"))
        let hash = String(line("a").dropFirst("a sha256:".count))
        for forged in [
            "", String(Self.secret.dropLast()), Self.secret + " ", Self.secret.uppercased(), hash, "sha256:" + hash,
            "a",
        ] { #expect(secrets.secret(shownAs: forged) == nil, "\(forged)") }
    }

    @Test(arguments: [(31, false), (32, true), (512, true), (513, false)])
    func `a secret has a shortest and a longest length`(length: Int, isGood: Bool) throws {
        let secret = String(repeating: "s", count: length)
        #expect((try SharedSecrets(line("a", secret)).secret(shownAs: secret) != nil) == isGood)
    }

    @Test func `secrets of two files are equal if name and hash are`() throws {
        let one = try #require(SharedSecrets(line("a")).secret(shownAs: Self.secret))
        #expect(try SharedSecrets(line("b") + "\n" + line("a")).contains(one))
        #expect(try !SharedSecrets(line("b")).contains(one))
        #expect(try !SharedSecrets(line("a", "another")).contains(one))
    }

    @Test func `no description shows a hash`() throws {
        let secrets = try SharedSecrets(line("a"))
        var dumped = ""
        dump(secrets, to: &dumped)
        let first = String(sha256(Array(Self.secret.utf8))[0])
        for text in ["\(secrets)", dumped] { #expect(!text.contains("[\(first),") && !text.contains("- \(first)\n")) }
        #expect(dumped.contains("(secret)"))
    }
}

/// A line of the file of secrets.
func secretLine(_ name: String, _ secret: String) -> String {
    "\(name) sha256:" + Hexadecimal.encode(sha256(Array(secret.utf8)))
}
