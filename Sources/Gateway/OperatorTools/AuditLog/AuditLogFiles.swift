import Foundation
import Glibc

/// The files of one audit log: the current one, and those that a rotation has moved away beside it.
///
/// Known names: `NAME.1`, `NAME.2.gz` (a higher number is older), `NAME-20261122`, `NAME-20261122-1700000000.gz` (a
/// later date is younger).
package struct AuditLogFiles: Sendable, Equatable {
    /// Rotated files that are read.
    package static let maximumFiles = 1_000

    /// The oldest first, the current one last.
    package private(set) var paths: [String] = []
    /// Files that are there and aren't read: packed with something else than gzip, too many, or no regular files.
    package private(set) var unsupported: [String] = []

    /// - Parameter path: of the current file, which needn't exist at the moment.
    package init(of path: String) {
        let url = URL(fileURLWithPath: path)
        let folder = url.deletingLastPathComponent()
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        let rotated = names.compactMap { RotatedName($0, of: url.lastPathComponent) }.sorted()
        func full(_ name: RotatedName) -> String { folder.appendingPathComponent(name.text).path }
        func isReadable(_ name: RotatedName) -> Bool { name.packing.isReadable && Self.isRegular(full(name)) }
        let readable = rotated.filter(isReadable)
        unsupported = rotated.filter { !isReadable($0) }.map(full) + readable.dropLast(Self.maximumFiles).map(full)
        paths = readable.suffix(Self.maximumFiles).map(full)
        if Self.isRegular(path, followingLinks: true) {
            paths.append(path)
        } else if FileManager.default.fileExists(atPath: path) {
            unsupported.append(path)
        }
    }

    /// Nobody has named the files that are found, so they must be what a rotation leaves: a FIFO would wait for ever,
    /// and a link leads elsewhere. The current file is named by AUDIT_LOG_PATH, which may be a link.
    private static func isRegular(_ path: String, followingLinks: Bool = false) -> Bool {
        var status = stat()
        guard (followingLinks ? stat(path, &status) : lstat(path, &status)) == 0 else { return false }
        return status.st_mode & S_IFMT == S_IFREG
    }

    /// Files that the operator names, in the given order: anything that can be read.
    package init(paths: [String]) { self.paths = paths }
}

/// The name of a file that was rotated away.
struct RotatedName: Comparable {
    enum Packing: String, CaseIterable {
        case none = ""
        case gzip = ".gz"
        case zstd = ".zst"
        case xz = ".xz"
        case bzip2 = ".bz2"

        var isReadable: Bool { self == .none || self == .gzip }
    }

    let text: String
    let packing: Packing
    /// Digits of a date, with what follows; empty for a numbered file.
    private let date: String
    /// Of a numbered file; 0 for a dated one.
    private let number: Int

    /// - Returns: nil for a name of another kind.
    init?(_ name: String, of current: String) {
        guard name.hasPrefix(current), name != current else { return nil }
        var rest = name.dropFirst(current.count)
        packing = Packing.allCases.first { $0 != .none && rest.hasSuffix($0.rawValue) } ?? .none
        rest = rest.dropLast(packing.rawValue.count)
        let separator = rest.first
        rest = rest.dropFirst()
        let isDigits = !rest.isEmpty && rest.utf8.allSatisfy { (0x30...0x39).contains($0) }
        switch separator {
        case "." where isDigits && rest.count <= 6: (number, date) = (Int(rest) ?? 0, "")
        case ".", "-":
            guard rest.count >= 8, rest.count <= 32, rest.prefix(8).utf8.allSatisfy({ (0x30...0x39).contains($0) }),
                rest.utf8.allSatisfy({ (0x30...0x39).contains($0) || $0 == UInt8(ascii: "-") })
            else { return nil }
            (number, date) = (0, String(rest))
        default: return nil
        }
        text = name
    }

    /// The oldest first. Where both kinds are there, dates come first.
    static func < (one: RotatedName, other: RotatedName) -> Bool {
        if one.date.isEmpty != other.date.isEmpty { return !one.date.isEmpty }
        if one.date != other.date { return one.date < other.date }
        return one.number != other.number ? one.number > other.number : one.text < other.text
    }
}
