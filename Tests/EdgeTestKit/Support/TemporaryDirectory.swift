import Foundation
import Synchronization

/// A directory that is deleted with its owner or, if all tests share the owner, at the end of the process.
package final class TemporaryDirectory: Sendable {
    package let path: String

    package init() throws {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent("portcullis-edge-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            at: url, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        path = url.path
        TemporaryDirectories.added(path)
    }

    deinit {
        TemporaryDirectories.remove(path)
    }

    package func file(_ name: String) -> String {
        path + "/" + name
    }

    /// Writes `text` under `name` and returns its path.
    @discardableResult
    package func write(_ text: String, to name: String) throws -> String {
        try text.write(toFile: file(name), atomically: true, encoding: .utf8)
        return file(name)
    }
}

/// The existing directories. A process releases no objects when it ends.
private enum TemporaryDirectories {
    private static let paths: Mutex<Set<String>> = {
        atexit { removeAll() }
        return Mutex([])
    }()

    static func added(_ path: String) {
        paths.withLock { _ = $0.insert(path) }
    }

    static func remove(_ path: String) {
        paths.withLock { _ = $0.remove(path) }
        try? FileManager.default.removeItem(atPath: path)
    }

    private static func removeAll() {
        for path in paths.withLock({ $0 }) { try? FileManager.default.removeItem(atPath: path) }
    }
}
