import Foundation

/// How long a refresh takes among many players.
extension BenchRun {
    static let manyFamilies = 100_000

    func measureRefreshAmongMany() throws {
        let room = try ServerRoom(settings)
        let gateway = try room.gateway(.accounts)
        guard Self.fill("\(settings.folder)/keys-\(gateway.port).sqlite") else {
            return results.note("Without python3 there are no \(Self.manyFamilies) families to refresh among.")
        }
        // One at a time. A key has a limit of proofs, so the client's players take turns.
        var job = job(.refresh, clients: 1)
        job.warmUpSeconds += 3
        job.further = Self.devices(64, settings)
        for round in 0..<plan.rounds {
            let latency = try load(job, on: .portcullis, gateway, room)?.traffic.latencyMicroseconds
            results.record(latency?.p50, .latencyP50, of: .portcullis, Cell.refreshAmongMany, round: round)
            results.record(latency?.p99, .latencyP99, of: .portcullis, Cell.refreshAmongMany, round: round)
        }
        say(summary(.latencyP99, Cell.refreshAmongMany, [.portcullis]))
    }

    /// Families of nobody, inserted while the gateway runs: it would end those that it finds when it opens the file.
    private static func fill(_ path: String) -> Bool {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["python3", "-c", filling, path, "\(manyFamilies)"]
        guard (try? process.run()) != nil else { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }

    private static let filling = #"""
        import sqlite3, sys, time
        store, now = sqlite3.connect(sys.argv[1], timeout=30), int(time.time() * 1000)
        sql = (
            "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1) "
            "INSERT INTO refresh_family (family_id, account_id, beginner_kind, beginner, key, hash, "
            "began_at, used_at, expires_at) SELECT randomblob(16), randomblob(16), 1, randomblob(32), randomblob(32), "
            "randomblob(32), ?2, ?2, ?3 FROM n")
        store.execute(sql, (int(sys.argv[2]), now, now + 30 * 86_400_000))
        store.commit()
        """#
}
