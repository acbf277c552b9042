import Crypto

/// The token of the internal listener (`ADMIN_TOKEN_PATH`). Only its hash is kept.
package struct InternalToken: Sendable, Equatable {
    /// Bytes. 32 letters and digits at random can't be guessed.
    package static let lengths = 32...512
    /// The field in which it is shown to endpoints for which `Authorization` is the client's own, as a proxy passes it
    /// on.
    package static let field = "x-portcullis-internal-token"

    private let digest: Secret

    /// - Parameter text: the content of the file: one line.
    package init(_ text: String) throws(OperatorListError) {
        let lines = text.utf8.split(separator: UInt8(ascii: "\n")).map { $0.last == 0x0D ? $0.dropLast() : $0 }
        guard lines.count == 1, let token = lines.first, Self.lengths.contains(token.count),
            token.allSatisfy({ (0x21...0x7E).contains($0) })
        else {
            let (least, most) = (Self.lengths.lowerBound, Self.lengths.upperBound)
            throw OperatorListError(
                line: nil, problem: "isn't one line of \(least) to \(most) letters",
                remedy: "Make one with `openssl rand -hex 32`.")
        }
        digest = Secret(SHA256.hash(data: Array(token)))
    }

    /// Compares hashes, in constant time.
    package func matches(_ shown: String) -> Bool {
        guard Self.lengths.contains(shown.utf8.count) else { return false }
        return digest.matches(Array(SHA256.hash(data: Array(shown.utf8))))
    }

    package static func == (one: InternalToken, other: InternalToken) -> Bool { one.digest.matches(other.digest) }
}
