import Dispatch
import FoundationEssentials
import GRDB
import Glibc
import KeyStore
import Testing

@testable import KeyStoreSQLite

/// What becomes of families when the small file beside a store is a copy, too, and what must not be taken for that.
@Suite("The file that counts uses of refresh tokens")
struct RefreshPlaceTests {
    private let directory: TemporaryDirectory
    private let place: CopiedPlace

    private var path: String { place.path }

    /// Whatever is opened here is closed when its scope is left.
    init() throws {
        directory = try TemporaryDirectory()
        place = CopiedPlace(path: directory.file("keys.sqlite"))
        let store = try gateway()
        _ = try store.begin(.sample(1), maximum: 10, until: nil)
        #expect(try store.begins(.sample()))
        #expect(try store.rotates(.sample(0, to: 1)))
    }

    private func limits(renewing age: Duration?) -> SQLiteKeyDatabase.Limits {
        var limits = SQLiteKeyDatabase.Limits.patient
        if let age { limits.maximumRefreshFileAge = age }
        return limits
    }

    private func gateway(_ path: String? = nil, renewing age: Duration? = nil) throws -> SQLiteKeyDatabase {
        try SQLiteKeyDatabase(path: path ?? self.path, limits: limits(renewing: age))
    }

    private func command() throws -> SQLiteKeyDatabase {
        try SQLiteKeyDatabase(path: path, limits: .patient, creating: false)
    }

    private func use(_ token: Int) throws {
        #expect(try gateway().rotates(.sample(token, to: token + 1)))
    }

    private func expectEnd() throws {
        let count = try DatabaseQueue(path: path).read {
            try Int.fetchOne($0, sql: "SELECT count(*) FROM refresh_family")
        }
        #expect(count == 1)
        let restored = try gateway()
        #expect(try restored.families(of: .sample(1)).isEmpty)
        #expect(try !restored.rotates(.sample(1, to: 9)))
        #expect(try restored.begins(.sample(2)))
        #expect(try gateway().rotates(.sample(0, to: 1, of: 2)))
    }

    // MARK: Copies

    @Test func `ends families with copies of both files`() throws {
        let copy = try place.copy()
        try use(1)
        try place.waitForAnotherBirth()
        try copy.putBack(store: .asNewFile, count: .asNewFile)
        try expectEnd()
    }

    @Test func `ends families with copies that were written over both files`() throws {
        let copy = try place.copy()
        try place.waitForAnotherBirth()
        try use(1)
        try copy.putBack(store: .inPlace, count: .inPlace)
        try expectEnd()
    }

    @Test func `ends families with copies of a moment before the store was closed`() throws {
        let copy: CopiedPlace.Copy
        do {
            let store = try gateway()
            try store.checkpoint()
            copy = try place.copy()
            try place.waitForAnotherBirth()
            #expect(try store.rotates(.sample(1, to: 2)))
        }
        try copy.putBack(store: .inPlace, count: .inPlace)
        try expectEnd()
    }

    @Test func `ends families with copies from before a gateway that is killed`() throws {
        let copy = try place.copy()
        try place.waitForAnotherBirth()
        let killed = try gateway()
        #expect(try killed.rotates(.sample(1, to: 2)))
        try copy.putBack(store: .asNewFile, count: .inPlace)
        try expectEnd()
        withExtendedLifetime(killed) {}
    }

    @Test func `ends families with copies of a gateway that went on for long and is killed`() throws {
        let killed = try gateway(renewing: .zero)
        try killed.checkpoint()
        let copy = try place.copy()
        try place.waitForAnotherBirth()
        #expect(try killed.rotates(.sample(1, to: 2)))
        try copy.putBack(store: .asNewFile, count: .inPlace)
        try expectEnd()
        withExtendedLifetime(killed) {}
    }

    // MARK: No copies

    @Test func `ends nothing when the folder is renamed`() throws {
        let (folder, other) = (directory.file("one"), directory.file("two"))
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        try place.waitForAnotherBirth()
        for name in ["", "-refresh"] {
            try FileManager.default.moveItem(atPath: path + name, toPath: folder + "/keys.sqlite" + name)
        }
        try FileManager.default.moveItem(atPath: folder, toPath: other)
        #expect(try gateway(other + "/keys.sqlite").rotates(.sample(1, to: 2)))
    }

    @Test func `ends nothing when the file has another name, mode or time, too`() throws {
        try place.waitForAnotherBirth()
        #expect(link(place.count, directory.file("link")) == 0)
        #expect(chmod(place.count, 0o640) == 0)
        #expect(utimes(place.count, nil) == 0)
        try use(1)
        try use(2)
    }

    @Test func `ends nothing while several processes write and make it anew`() throws {
        let stores = try [gateway(renewing: .zero), command(), gateway(renewing: .zero), gateway()]
        for token in 1..<40 {
            #expect(try stores[token % stores.count].rotates(.sample(token, to: token + 1)))
            #expect(try command().families(of: .sample(1)).count == 1)
        }
        try use(40)
    }

    @Test func `ends nothing where many changes come at once`() async throws {
        let limits = limits(renewing: .zero)
        let stores = try (0..<2).map { _ in try SQLiteKeyRegistry(path: path, limits: limits) }
        for number in 2..<30 { #expect(try await stores[0].begin(.sample(number)) == .begun) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 2..<30 {
                group.addTask {
                    let outcome = try await stores[number % 2].use(.sample(0, to: 1, of: number))
                    #expect(outcome.isRotated)
                }
            }
            for _ in 0..<10 {
                group.addTask {
                    let another = try SQLiteKeyRegistry(path: path, limits: limits)
                    #expect(try await another.families(of: .sample(1)).count == 29)
                }
            }
            try await group.waitForAll()
        }
        #expect(try await SQLiteKeyRegistry(path: path, limits: limits).use(.sample(1, to: 2)).isRotated)
    }

    @Test func `is made anew by gateways alone, beside a draft that was left`() throws {
        try Data("left".utf8).write(to: URL(filePath: place.draft))
        let first = try place.inode()
        do { #expect(try command().rotates(.sample(1, to: 2))) }
        #expect(try place.inode() == first)
        try place.keepInode()
        let killed = try gateway()
        #expect(try place.inode() != first && !place.hasDraft)
        try use(2)
        withExtendedLifetime(killed) {}
    }

    @Test func `is written without SQLite's lock`() throws {
        let store = try gateway(renewing: .zero)
        let first = try place.inode()
        try place.keepInode()
        try DatabaseQueue(path: path).inDatabase { database in
            try database.inTransaction(.immediate) {
                #expect(throws: KeyRegistryError.busy) {
                    try store.change(until: .now()) { try store.use(.sample(1, to: 2), in: $0) }
                }
                return .rollback
            }
        }
        #expect(try place.content(of: place.draft) == place.content(of: place.count))
        #expect(try place.inode() == first)
        // The first change removes what was left.
        for token in 1..<3 { #expect(try store.rotates(.sample(token, to: token + 1))) }
        #expect(try place.inode() != first && !place.hasDraft)
        try use(3)
    }

    @Test func `isn't replaced by a draft that another process has removed`() throws {
        let (one, other) = (place.refreshPlace(), place.refreshPlace())
        let (history, first) = (try #require(try one.read()), try place.inode())
        let lost = try #require(one.draft(of: history))
        #expect(other.draft(of: history) == nil)
        other.renew(history, by: nil)
        #expect(!place.hasDraft)
        one.renew(history, by: lost)
        #expect(try place.inode() == first)
        let draft = try #require(other.draft(of: history))
        one.renew(history, by: lost)
        #expect(try place.inode() == first && place.hasDraft)
        let later = RefreshHistory(id: history.id, changes: history.changes + 1)
        other.renew(later, by: draft)
        #expect(try place.inode() != first && one.read() == later && !place.hasDraft)
    }

    @Test func `isn't replaced by a draft of another history`() throws {
        let (own, first) = (place.refreshPlace(), try place.inode())
        let history = try #require(try own.read())
        let another = RefreshHistory(id: history.id.map { ~$0 }, changes: 0)
        own.renew(history, by: own.draft(of: another))
        own.renew(another, by: own.draft(of: another))
        #expect(try place.inode() == first && own.read() == history && !place.hasDraft)
    }

    @Test func `ends nothing where it can't be made anew`() throws {
        try FileManager.default.createDirectory(atPath: place.draft, withIntermediateDirectories: false)
        let first = try place.inode()
        let store = try gateway(renewing: .zero)
        for token in 1..<4 { #expect(try store.rotates(.sample(token, to: token + 1))) }
        try use(4)
        #expect(try place.inode() == first)
    }

    @Test func `comes back where it is removed beside a gateway`() throws {
        do {
            let store = try gateway(renewing: .zero)
            try FileManager.default.removeItem(atPath: place.count)
            #expect(try store.rotates(.sample(1, to: 2)))
        }
        try use(2)
    }

    @Test func `ends nothing where it comes back in a transaction that fails`() throws {
        let killed = try gateway()
        try FileManager.default.removeItem(atPath: place.count)
        #expect(throws: KeyRegistryError.queueFull) {
            try killed.change(until: nil) { database in
                #expect(try killed.use(.sample(1, to: 2), in: database).isRotated)
                #expect(try killed.begin(.sample(2), in: database) == .begun)
                throw KeyRegistryError.queueFull
            }
        }
        #expect(access(place.count, F_OK) == 0)
        try use(1)
        withExtendedLifetime(killed) {}
    }

    // MARK: Birth times

    @Test func `compares birth times where both are known`() {
        let birth = FileBirth(seconds: 7, nanoseconds: 8)
        func isOfCopy(_ seconds: Int64, _ nanoseconds: Int64) -> Bool {
            FileBirth.isOfCopy(saying: birth, having: FileBirth(seconds: seconds, nanoseconds: nanoseconds))
        }
        #expect(!isOfCopy(7, 8) && isOfCopy(7, 9) && isOfCopy(6, 8) && isOfCopy(6, 0))
        #expect(!isOfCopy(7, 0), "nanoseconds that weren't kept")
        #expect(!isOfCopy(0, 0))
        #expect(!FileBirth.isOfCopy(saying: .unknown, having: birth))
    }

    @Test func `reads the birth time that the system tells`() throws {
        #expect(FileBirth(of: -1) == .unknown)
        let (before, birth) = (Int64(time(nil)) - 60, try place.birth())
        #expect((before...before + 120).contains(birth.seconds) && (0..<1_000_000_000).contains(birth.nanoseconds))
        #expect(chmod(place.count, 0o640) == 0)
        #expect(try place.birth() == birth)
    }
}

/// At once, on the caller's thread: then nobody else keeps the store open.
extension SQLiteKeyDatabase {
    fileprivate func begins(_ family: RefreshFamily) throws -> Bool {
        try change(until: nil) { try begin(family, in: $0) } == .begun
    }

    fileprivate func rotates(_ use: RefreshUse) throws -> Bool {
        try change(until: nil) { try self.use(use, in: $0) }.isRotated
    }
}

/// A store's path, of which copies are made as by `cp` while nobody writes to it.
private struct CopiedPlace {
    enum Way { case asNewFile, inPlace }

    struct Copy {
        fileprivate let path: String
        fileprivate let store: Data
        fileprivate let count: Data

        func putBack(store storeWay: Way, count countWay: Way) throws {
            for name in ["-wal", "-shm"] { unlink(path + name) }
            for (name, data, way) in [("", store, storeWay), ("-refresh", count, countWay)] {
                if way == .asNewFile { try FileManager.default.removeItem(atPath: path + name) }
                let descriptor = open(path + name, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0o600)
                defer { close(descriptor) }
                let written = data.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
                #expect(written == data.count)
            }
        }
    }

    let path: String

    var count: String { path + "-refresh" }
    var draft: String { count + ".part" }
    var hasDraft: Bool { access(draft, F_OK) == 0 }

    /// As another process has it.
    func refreshPlace() -> RefreshPlace { RefreshPlace(of: path, maximumAge: .zero) }

    /// So that no later file gets the number of this one.
    func keepInode() throws { try #require(link(count, count + ".former") == 0) }

    /// Nil where the file isn't whole, or says another birth time than it has.
    func content(of path: String) throws -> RefreshHistory? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        let content = RefreshPlaceContent(of: descriptor)
        return content?.birth == FileBirth(of: descriptor) ? content?.history : nil
    }

    func copy() throws -> Copy {
        Copy(
            path: path, store: try Data(contentsOf: URL(filePath: path)),
            count: try Data(contentsOf: URL(filePath: count)))
    }

    func inode() throws -> ino_t {
        var status = stat()
        try #require(stat(count, &status) == 0)
        return status.st_ino
    }

    func birth() throws -> FileBirth { try Self.birth(of: count) }

    /// The clock of files moves on in steps of some milliseconds. Fails where files have no birth time.
    func waitForAnotherBirth() throws {
        let (begun, probe) = (try birth(), count + ".probe")
        try #require(begun != .unknown)
        defer { unlink(probe) }
        repeat {
            unlink(probe)
            close(open(probe, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o600))
        } while try Self.birth(of: probe) == begun
    }

    private static func birth(of path: String) throws -> FileBirth {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        return FileBirth(of: descriptor)
    }
}
