public import Foundation

/// Keeps a few small values for this installation. On Apple's systems this is the keychain.
public protocol SecretStore: Sendable {
    /// - Returns: nil if there is no such value.
    func read(_ name: String) throws -> Data?
    func write(_ name: String, _ value: Data) throws
    /// It is no error if there is no such value.
    func delete(_ name: String) throws
}

/// In memory: for tests, and where nothing should outlive the process.
public final class MemorySecretStore: SecretStore {
    private let values = Locked<[String: Data]>([:])

    public init() {}

    public func read(_ name: String) throws -> Data? { values.withLock { $0[name] } }

    public func write(_ name: String, _ value: Data) throws { values.withLock { $0[name] = value } }

    public func delete(_ name: String) throws { values.withLock { $0[name] = nil } }
}

/// In files that only their owner can read: for tools on Linux.
public struct FileSecretStore: SecretStore {
    private let folder: URL

    /// - Parameter folder: is made if it doesn't exist.
    public init(folder: URL) throws {
        self.folder = folder
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }

    public func read(_ name: String) throws -> Data? {
        let file = file(name)
        guard FileManager.default.fileExists(atPath: file.path) else { return nil }
        return try Data(contentsOf: file)
    }

    public func write(_ name: String, _ value: Data) throws {
        // Nobody else can read it at any time, and a crash leaves the old value or the new one.
        let (path, new) = (file(name).path, file(name).path + ".new")
        let isWritten = FileManager.default.createFile(
            atPath: new, contents: value, attributes: [.posixPermissions: 0o600])
        guard isWritten, rename(new, path) == 0 else { throw CocoaError(.fileWriteUnknown) }
    }

    public func delete(_ name: String) throws {
        let file = file(name)
        guard FileManager.default.fileExists(atPath: file.path) else { return }
        try FileManager.default.removeItem(at: file)
    }

    private func file(_ name: String) -> URL {
        folder.appendingPathComponent(BinaryText.hexadecimal(name.utf8))
    }
}
