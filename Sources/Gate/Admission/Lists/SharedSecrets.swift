import Crypto
import FoundationEssentials
import WireText

/// The secrets of `AUTH_MODE=shared-secret`, each with a name chosen by the operator.
///
/// ```
/// # name sha256:<64 hexadecimal digits>
/// app-2026 sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
/// ```
/// A secret is hashed once, without salt, so it must have enough entropy to resist guessing.
package struct SharedSecrets: Sendable, Equatable {
    package static let maximumCount = 64
    package static let maximumNameBytes = 64
    /// Bytes. A text of another length can't be one of the secrets.
    static let lengths = 32...512

    private let secrets: [SharedSecret]

    /// - Parameter text: the content of the file; at least one secret, and no duplicate names.
    package init(_ text: String) throws(OperatorListError) {
        var secrets: [SharedSecret] = []
        for line in OperatorList.lines(of: text) {
            let secret = try SharedSecret(line)
            guard !secrets.contains(where: { $0.name.hasSameBytes(as: secret.name) }) else {
                throw OperatorListError(
                    line: line.number, problem: "has a name that another line has",
                    remedy: "Give each a name of its own.")
            }
            guard secrets.count < Self.maximumCount else {
                throw OperatorListError(
                    line: line.number, problem: "is one secret too many",
                    remedy: "Keep at most \(Self.maximumCount) of them.")
            }
            secrets.append(secret)
        }
        guard !secrets.isEmpty else {
            throw OperatorListError(
                line: nil, problem: "holds no secret", remedy: "Write at least one line `name sha256:<hex>`.")
        }
        self.secrets = secrets
    }

    /// In the file's order.
    package var names: [String] { secrets.map(\.name) }

    /// Compares with every secret, even after a match.
    ///
    /// - Parameter text: as the client sent it.
    func secret(shownAs text: String) -> SharedSecret? {
        guard Self.lengths.contains(text.utf8.count) else { return nil }
        let digest = Array(SHA256.hash(data: Array(text.utf8)))
        return secrets.reduce(nil) { found, secret in secret.hash.matches(digest) ? secret : found }
    }

    /// Whether a secret that was presented earlier is still configured.
    func contains(_ secret: SharedSecret) -> Bool { secrets.contains(secret) }
}

/// One of the secrets: its name, which isn't secret, and its hash.
package struct SharedSecret: Codable, Sendable, Equatable {
    package let name: String
    let hash: Secret

    fileprivate init(_ line: OperatorList.Line) throws(OperatorListError) {
        let prefix = "sha256:"
        guard line.words.count == 2, let name = line.words.first, let value = line.words.last, Self.isName(name),
            value.hasBytePrefix(prefix),
            let digest = Hexadecimal.decode(String(value.droppingBytes(prefix.utf8.count)), count: 32)
        else {
            throw OperatorListError(
                line: line.number, problem: "isn't a name and the hash of a secret",
                remedy: "Write `name sha256:<64 hexadecimal digits>`; a name has letters, digits, `.`, `_` and `-`.")
        }
        self.name = String(name)
        hash = Secret(digest)
    }

    private static func isName(_ text: Substring) -> Bool {
        (1...SharedSecrets.maximumNameBytes).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                    UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
                    true
                default: false
                }
            }
    }

    package static func == (one: SharedSecret, other: SharedSecret) -> Bool {
        one.name.hasSameBytes(as: other.name) && one.hash.matches(other.hash)
    }
}

/// The common format of operators' lists: one entry per line, made of words; `#` begins a comment.
package enum OperatorList {
    package struct Line {
        /// From 1.
        package let number: Int
        /// Never empty.
        package let words: [Substring]
    }

    /// The lines that contain an entry, in order.
    package static func lines(of text: String) -> some Sequence<Line> {
        let blanks: Set<UInt8> = [UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r")]
        return text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).lazy.enumerated()
            .compactMap { index, line in
                let words = line.prefix { $0 != UInt8(ascii: "#") }.split { blanks.contains($0) }
                return words.isEmpty ? nil : Line(number: index + 1, words: words.map { Substring($0) })
            }
    }
}

/// Why a list can't be used.
package struct OperatorListError: Error, Hashable, Sendable {
    /// From 1; `nil` when it is about the whole list.
    package let line: Int?
    /// Follows "line 3" or the name of the list: "isn't …". It doesn't quote the line.
    package let problem: String
    /// A sentence that says what to do.
    package let remedy: String
}
