import Foundation
import KeyStore
import KeyStorePostgreSQL
import PostgreSQL
import Synchronization
import Testing

@Suite("What a gateway remembers of the database's past")
struct RefreshWitnessTests {
    private func history(_ number: Int) -> [UInt8] { [UInt8](repeating: UInt8(number), count: 16) }

    @Test func `is the number of the newest history, and the names of earlier ones`() {
        var witness = RefreshWitness()
        #expect(witness.histories.isEmpty && witness.beats == 0)
        witness.note(beats: 3, in: history(1))
        witness.note(beats: 2, in: history(1))
        #expect(witness.beats == 3)
        witness.note(beats: 1, in: history(2))
        // A late answer.
        witness.note(beats: 4, in: history(1))
        #expect(witness.beats == 1 && witness.histories == [history(2), history(1)])
        for number in 3..<100 { witness.note(beats: 1, in: history(number)) }
        #expect(witness.histories.count == RefreshWitness.maximumHistories && witness.histories.first == history(99))
    }

    @Test func `is read as it was written`() {
        var witness = RefreshWitness()
        for number in 0..<RefreshWitness.maximumHistories {
            #expect(RefreshWitness(encoded: witness.encoded) == witness)
            witness.note(beats: .max - Int64(number), in: history(number))
        }
        let bytes = witness.encoded
        #expect(RefreshWitness(encoded: bytes) == witness)
        for malformed in [[], Array(bytes.dropLast()), bytes + history(1), bytes.reversed(), Array(bytes.prefix(39))] {
            #expect(RefreshWitness(encoded: malformed) == nil)
        }
    }

    @Test func `is in a file, which is made again if it is malformed`() async throws {
        let (database, folder) = (try await FleetDatabase(), try TemporaryDirectory())
        let path = folder.file("refresh-witness")
        let reports = Mutex<[String]>([])
        func gateway() throws -> PostgreSQLKeyRegistry {
            let witness = RefreshWitnessKeeper(in: folder.path) { report in reports.withLock { $0.append(report) } }
            return try FleetDatabase.registry(database.options, witness: witness)
        }
        func kept() throws -> RefreshWitness? {
            RefreshWitness(encoded: Array(try Data(contentsOf: URL(fileURLWithPath: path))))
        }
        let first = try gateway()
        _ = try await first.begin(.sample(1), maximum: 10)
        #expect(try await first.begin(.sample()) == .begun)
        try await first.keepWitness()
        let before = try #require(try kept())
        #expect(before.beats == 1 && before.histories.count == 1)
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        try await gateway().keepWitness()
        #expect(try kept()?.id == before.id && kept()?.beats == 2)
        #expect(reports.withLock { $0 }.isEmpty)

        try Data("not a witness".utf8).write(to: URL(fileURLWithPath: path))
        let third = try gateway()
        #expect(reports.withLock { $0 }.map { $0.contains("\(path) is malformed") } == [true])
        #expect(try await third.use(.sample(0, to: 1)).isRotated)
        try await third.keepWitness()
        #expect(try kept()?.beats == 1)
        #expect(try kept()?.id != before.id)
        // An end that somebody has to know of.
        _ = try await first.end(.all, at: 5)
        try await third.keepWitness()
        #expect(reports.withLock { $0 }.map { $0.contains("have ended") } == [false, true])
    }

    @Test func `is in memory if the folder can't be written, which is told once`() async throws {
        let database = try await FleetDatabase()
        let notices = Notices()
        let witness = RefreshWitnessKeeper(in: "/proc/self") { _ in notices.add() }
        let gateway = try FleetDatabase.registry(database.options, witness: witness)
        _ = try await gateway.begin(.sample(1), maximum: 10)
        #expect(try await gateway.begin(.sample()) == .begun)
        for _ in 0..<2 { try await gateway.keepWitness() }
        #expect(notices.count == 1)
        try database.session().run("UPDATE portcullis.refresh_witness SET beats = 0")
        #expect(try await gateway.use(.sample(0, to: 1)) == .unknown)
    }
}
