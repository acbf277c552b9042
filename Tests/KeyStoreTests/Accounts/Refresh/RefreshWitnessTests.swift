import Foundation
import KeyStore
import KeyStorePostgreSQL
import PostgreSQL
import StallTestKit
import Synchronization
import Testing

@Suite("What a gateway remembers of the database's past")
struct RefreshWitnessTests {
    /// No test takes as long: nothing follows by itself.
    private let long: Duration = .seconds(86_400)
    private let member = GatewayMembership(id: "1", name: "1", version: "1")

    private func history(_ number: Int) -> [UInt8] { [UInt8](repeating: UInt8(number), count: 16) }

    private func confirmed(
        _ number: Int, place: Int = 0, reached: Int64 = 1, run: Int64 = 1, beats: Int64 = 0
    ) -> RefreshConfirmation {
        let place = history(place) + history(place)
        return RefreshConfirmation(history: history(number), place: place, reached: reached, run: run, beats: beats)
    }

    @Test func `is the number of the newest history, and the names of earlier ones`() {
        var witness = RefreshWitness()
        #expect(witness.histories.isEmpty && witness.beats == 0)
        witness.note(confirmed(1, beats: 3), after: nil)
        witness.note(confirmed(1, beats: 2), after: history(1))
        witness.note(confirmed(1), after: history(1))
        #expect(witness.beats == 3)
        witness.note(confirmed(2, beats: 1), after: history(1))
        // A late answer.
        witness.note(confirmed(1, beats: 4), after: history(1))
        #expect(witness.beats == 1 && witness.histories == [history(2), history(1)])
        for number in 3..<100 { witness.note(confirmed(number, beats: 1), after: history(number - 1)) }
        #expect(witness.histories.count == RefreshWitness.maximumHistories && witness.histories.first == history(99))
    }

    @Test func `is the furthest position in the newest history, with its run`() {
        var witness = RefreshWitness()
        #expect(witness.reached == 0 && witness.run == 0)
        witness.note(confirmed(1, reached: 9, run: 1), after: nil)
        witness.note(confirmed(1, reached: 8, run: 2), after: history(1))
        #expect(witness.reached == 9 && witness.run == 1)
        witness.note(confirmed(1, reached: 10, run: 2), after: history(1))
        #expect(witness.reached == 10 && witness.run == 2)
        witness.note(confirmed(2, reached: 3, run: 3), after: history(1))
        #expect(witness.reached == 3 && witness.run == 3)
    }

    /// Two statements are under way while all families end.
    @Test func `takes up no earlier history whose answer comes after the newer one's`() {
        var witness = RefreshWitness()
        witness.note(confirmed(2), after: nil)
        witness.note(confirmed(1, reached: 9), after: nil)
        #expect(witness.histories == [history(2)] && witness.reached == 1)
        witness.note(confirmed(3), after: history(2))
        #expect(witness.histories == [history(3), history(2)])
    }

    @Test func `forgets earlier histories in another place`() {
        var witness = RefreshWitness()
        witness.note(confirmed(1), after: nil)
        witness.note(confirmed(2), after: history(1))
        witness.note(confirmed(3, place: 1, reached: 5), after: history(2))
        #expect(witness.histories == [history(3)] && witness.reached == 5)
        witness.note(confirmed(4, place: 1), after: history(3))
        witness.note(confirmed(2), after: history(4))
        #expect(witness.histories == [history(2)])
    }

    /// As with a gateway that is tried elsewhere, with its folder.
    @Test func `ends nothing in two databases that its gateway visits by turns`() async throws {
        let (folder, notices) = (try TemporaryDirectory(), Notices())
        let databases = [try await FleetDatabase(), try await FleetDatabase()]
        for database in databases {
            _ = try await database.registry.begin(.sample(1), maximum: 10)
            #expect(try await database.registry.begin(.sample()) == .begun)
        }
        for token in 0..<4 {
            for database in databases {
                let witness = RefreshWitnessKeeper(in: folder.path, pause: long) { _ in notices.add() }
                let gateway = try FleetDatabase.registry(database.options, witness: witness)
                #expect(try await gateway.use(.sample(token, to: token + 1)).isRotated)
                try await gateway.keepWitness()
                #expect(witness.present.histories.count == 1 && witness.present.beats == Int64(token + 1))
            }
        }
        #expect(notices.count == 0)
    }

    @Test func `is read as it was written`() {
        var witness = RefreshWitness()
        for number in 0..<RefreshWitness.maximumHistories {
            #expect(RefreshWitness(encoded: witness.encoded) == witness)
            let numbers = (0..<3).map { Int64.max - Int64(number * 3 + $0) }
            let confirmed = RefreshConfirmation(
                history: history(number), place: history(number) + history(7), reached: numbers[0], run: numbers[1],
                beats: numbers[2])
            witness.note(confirmed, after: witness.histories.first)
            #expect([witness.reached, witness.run, witness.beats] == numbers)
            #expect(witness.place == history(number) + history(7))
        }
        for number in 0..<RefreshWitness.maximumHistories {
            witness.note(confirmed(number + 100), after: witness.histories.first)
        }
        #expect(witness.histories.count == RefreshWitness.maximumHistories)
        let bytes = witness.encoded
        #expect(RefreshWitness(encoded: bytes) == witness)
        for malformed in [[], Array(bytes.dropLast()), bytes + history(1), bytes.reversed(), Array(bytes.prefix(87))] {
            #expect(RefreshWitness(encoded: malformed) == nil)
        }
        #expect(RefreshWitness(encoded: Array(bytes.prefix(88)))?.histories == [])
    }

    @Test func `is in a file, which is made again if it is malformed`() async throws {
        let (database, folder) = (try await FleetDatabase(), try TemporaryDirectory())
        let path = folder.file("refresh-witness")
        let reports = Mutex<[String]>([])
        func gateway() throws -> PostgreSQLKeyRegistry {
            let witness = RefreshWitnessKeeper(in: folder.path, pause: long) { report in
                reports.withLock { $0.append(report) }
            }
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
        // An end that somebody has to know of: each gateway says so when it hears of it.
        _ = try await first.end(.all, at: 5)
        #expect(reports.withLock { $0 }.map { $0.contains("have ended") } == [false, true])
        try await third.keepWitness()
        #expect(reports.withLock { $0 }.map { $0.contains("have ended") } == [false, true, true])
    }

    @Test func `is written down soon, and a beat follows`() async throws {
        let (database, folder) = (try await FleetDatabase(), try TemporaryDirectory())
        func kept() throws -> RefreshWitness? {
            RefreshWitness(
                encoded: Array(try Data(contentsOf: URL(fileURLWithPath: folder.file("refresh-witness")))))
        }
        let keeper = RefreshWitnessKeeper(in: folder.path)
        let gateway = try FleetDatabase.registry(database.options, witness: keeper)
        _ = try await gateway.begin(.sample(1), maximum: 10)
        #expect(try await gateway.begin(.sample()) == .begun)
        #expect(keeper.present.histories.count == 1)
        let before = try await eventually { try kept().flatMap { $0.beats > 0 ? $0 : nil } }
        #expect(before.histories == keeper.present.histories)
        #expect(try await gateway.use(.sample(0, to: 1)).isRotated)
        _ = try await eventually { try kept().flatMap { $0.beats > before.beats ? $0 : nil } }
    }

    @Test func `is written down soon if no beat follows`() async throws {
        let (database, folder) = (try await FleetDatabase(), try TemporaryDirectory())
        let keeper = RefreshWitnessKeeper(in: folder.path)
        let gateway = try FleetDatabase.registry(database.options, witness: keeper)
        try database.session().run("ALTER FUNCTION portcullis.beat_witness RENAME TO hidden")
        _ = try await gateway.begin(.sample(1), maximum: 10)
        #expect(try await gateway.begin(.sample()) == .begun)
        _ = try await eventually { RefreshWitnessKeeper(in: folder.path).present == keeper.present ? true : nil }
        #expect(keeper.present.histories.count == 1 && keeper.present.beats == 0)
    }

    @Test func `is written down before a shutdown`() async throws {
        let (database, folder) = (try await FleetDatabase(), try TemporaryDirectory())
        let keeper = RefreshWitnessKeeper(in: folder.path, pause: long)
        let gateway = try FleetDatabase.registry(database.options, witness: keeper)
        _ = try await gateway.begin(.sample(1), maximum: 10)
        #expect(try await gateway.begin(.sample()) == .begun)
        try await gateway.leave(member, within: 60_000)
        #expect(keeper.present.histories.count == 1)
        #expect(RefreshWitnessKeeper(in: folder.path).present == keeper.present)
    }

    @Test func `is written down before a shutdown that the database doesn't hear of`() async throws {
        let (database, folder) = (try await FleetDatabase(), try TemporaryDirectory())
        let keeper = RefreshWitnessKeeper(in: folder.path, pause: long)
        let gateway = try FleetDatabase.registry(database.options, witness: keeper)
        _ = try await gateway.begin(.sample(1), maximum: 10)
        #expect(try await gateway.begin(.sample()) == .begun)
        gateway.close()
        await #expect(throws: KeyRegistryError.self) { try await gateway.leave(member, within: 60_000) }
        #expect(keeper.present.histories.count == 1)
        #expect(RefreshWitnessKeeper(in: folder.path).present == keeper.present)
    }

    /// The thread that writes the file hangs.
    @Test func `holds up no shutdown`() async throws {
        let (database, gate) = (try await FleetDatabase(), Gate())
        let gateway = try FleetDatabase.registry(
            database.options, witness: RefreshWitnessKeeper(in: "/proc/self") { _ in gate.pass() })
        _ = try await gateway.begin(.sample(1), maximum: 10)
        #expect(try await gateway.begin(.sample()) == .begun)
        await gate.arrivals(1)
        let report = GatewayMember.Report()
        #expect(try await gateway.beat(member, uptime: 1, report).members.count == 1)
        try await gateway.leave(member, within: 60_000)
        #expect(gate.isHolding)
        gate.open()
        #expect(try database.session().run("SELECT count(*) FROM portcullis.gateway", []).only().integer(0) == 0)
    }

    /// The upkeep of the database goes on behind it.
    @Test func `holds up no beat that a gateway makes by itself`() async throws {
        let (database, gate) = (try await FleetDatabase(), Gate())
        let keeper = RefreshWitnessKeeper(in: "/proc/self", pause: long, patience: .milliseconds(100)) { _ in
            gate.pass()
        }
        let gateway = try FleetDatabase.registry(database.options, witness: keeper)
        for beats in 1...3 {
            try await gateway.keepWitness()
            #expect(keeper.present.beats == Int64(beats))
        }
        await gate.arrivals(1)
        #expect(gate.isHolding)
        gate.open()
    }

    @Test func `is raised by what was written alone`() async throws {
        let (database, keeper) = (try await FleetDatabase(), RefreshWitnessKeeper())
        let gateway = try FleetDatabase.registry(database.options, witness: keeper)
        let session = try database.session()
        func check(
            raises: Bool, at line: SourceLocation = #_sourceLocation, _ call: () async throws -> Bool
        ) async throws {
            let before = keeper.present
            // Somebody else writes.
            try session.run("UPDATE portcullis.account SET closed_at = closed_at")
            let isRight = try await call()
            #expect(isRight, sourceLocation: line)
            let after = keeper.present
            #expect(after.histories.count == 1 && after.reached >= before.reached, sourceLocation: line)
            #expect((after.reached > before.reached) == raises, sourceLocation: line)
        }
        let key = [UInt8](repeating: 7, count: RefreshLimits.hashBytes)
        _ = try await gateway.begin(.sample(1), maximum: 10)
        #expect(try await gateway.begin(.sample()) == .begun)
        #expect(keeper.present.reached > 0 && keeper.present.run > 0)
        try await check(raises: true) { try await gateway.use(.sample(0, to: 1)).isRotated }
        try await check(raises: false) { try await gateway.use(.sample(0, to: 2)).repeatedSealed == [1] }
        try await check(raises: true) { try await gateway.use(.sample(0, to: 2, at: 90_000)).repeatedSealed == [1] }
        try await check(raises: false) {
            try await gateway.use(.sample(0, to: 2, at: 90_000)) == .repeatedTooOften(.sample(1))
        }
        try await check(raises: false) { try await gateway.use(.sample(0, to: 2, at: 200_000)) == .expired }
        try await check(raises: false) { try await gateway.use(.sample(0, to: 1, of: 2)) == .unknown }
        try await check(raises: false) {
            try await gateway.use(.sample(1, to: 2, key: key)) == .wrongKey(.sample(1))
        }
        try await check(raises: false) { try await gateway.begin(.sample(3, account: 9)) == .ended }
        try await check(raises: false) { try await gateway.end(.family(.sample(9)), at: 5) == 0 }
        try await check(raises: true) {
            try await gateway.keepWitness()
            return keeper.present.beats == 1
        }
        try await check(raises: true) { try await gateway.begin(.sample(2)) == .begun }
        try await check(raises: true) { try await gateway.end(.family(.sample(2)), at: 5) == 1 }
        let signIn = PasskeySignIn(.sample(1), beginning: .sample(3))
        try await check(raises: true) {
            try await gateway.signIn(signIn, spending: SignInMarks()) == .passkey(.used)
        }
        try await check(raises: true) { try await gateway.use(.sample(9, to: 2)) == .reused(.sample(1)) }
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
