import Compression
import Glibc
import Observability

/// A file of the audit log, opened to be read from its beginning to its present end, unpacked, in pieces of bounded
/// size.
///
/// The file is closed with the last reference.
package final class AuditFile {
    private static let pieceBytes = 65_536

    let path: String
    private let descriptor: CInt

    /// - Parameter path: `-` is standard input.
    package init(path: String) throws(AuditFileError) {
        self.path = path
        descriptor = path == "-" ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .unreadable(path: path, errno) }
        var status = stat()
        guard fstat(descriptor, &status) != 0 || status.st_mode & S_IFMT != S_IFDIR else {
            throw .unreadable(path: path, EISDIR)
        }
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// What begins with gzip's mark is unpacked, whatever its name is.
    ///
    /// - Parameter body: called for each piece.
    package func read(_ body: (ArraySlice<UInt8>) -> Void) throws(AuditFileError) {
        var unpacking: Unpacking?
        while true {
            let piece = try Self.next(descriptor, path)
            guard !piece.isEmpty else { break }
            if unpacking == nil { unpacking = Unpacking(piece) }
            try unpacking?.add(piece, path, body)
        }
        try unpacking?.finish(path)
    }

    /// - Returns: nothing at the end of the file.
    static func next(_ descriptor: CInt, _ path: String) throws(AuditFileError) -> [UInt8] {
        while true {
            var failure: CInt = 0
            let piece = [UInt8](unsafeUninitializedCapacity: pieceBytes) { room, count in
                let result = Glibc.read(descriptor, room.baseAddress, room.count)
                failure = result < 0 ? errno : 0
                count = max(result, 0)
            }
            if failure == EINTR { continue }
            guard failure == 0 else { throw .unreadable(path: path, failure) }
            return piece
        }
    }

    private struct Unpacking {
        private static let mark: [UInt8] = [0x1F, 0x8B]

        private let inflater: Inflater?
        private var hasEnded = false

        init(_ first: [UInt8]) { inflater = first.starts(with: Self.mark) ? Inflater(format: .gzip) : nil }

        mutating func add(
            _ piece: [UInt8], _ path: String, _ body: (ArraySlice<UInt8>) -> Void
        ) throws(AuditFileError) {
            guard let inflater else { return body(piece[...]) }
            var rest = piece[...]
            repeat {
                let unpacked: Inflater.Piece
                do throws(CompressionError) {
                    unpacked = try inflater.inflate(&rest, limit: pieceBytes)
                } catch { throw .damaged(path: path) }
                hasEnded = unpacked.isEnd
                body(unpacked.bytes[...])
                // A full piece may have more behind it, without any input.
                guard !rest.isEmpty || unpacked.bytes.count == pieceBytes && !unpacked.isEnd else { return }
            } while true
        }

        func finish(_ path: String) throws(AuditFileError) {
            if inflater != nil, !hasEnded { throw .damaged(path: path) }
        }
    }
}

package enum AuditFileError: Error, Sendable, CustomStringConvertible {
    case unreadable(path: String, CInt)
    /// Cut off, or not what its first bytes say.
    case damaged(path: String)

    package var description: String {
        switch self {
        case .unreadable(let path, let number):
            "\(EscapedText(path)) can't be read: \(String(cString: strerror(number)))"
        case .damaged(let path): "\(EscapedText(path)) is damaged or cut off; what comes before is read"
        }
    }
}
