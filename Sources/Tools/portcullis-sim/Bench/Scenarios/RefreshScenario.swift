import Foundation
import Glibc

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
            measureDisk(round)
        }
        for cell in [Cell.refreshAmongMany, Cell.disk] { say(summary(.latencyP99, cell, [.portcullis])) }
    }

    /// A refresh can't be faster than the flush that it waits for.
    private func measureDisk(_ round: Int) {
        guard let times = DiskFlushes.times(in: settings.folder, seconds: plan.seconds) else {
            return results.note("The disk alone: no figure, the file can't be written.")
        }
        for (quantity, share) in [(Quantity.latencyP50, 0.5), (.latencyP99, 0.99)] {
            let index = min(times.count - 1, Int(Double(times.count) * share))
            results.record(times[index], quantity, of: .portcullis, Cell.disk, round: round)
        }
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

/// What a refresh's commit writes, without a gateway: frames of the log, and a flush. Into a file that has its length,
/// as the log has.
enum DiskFlushes {
    /// A page and its header.
    private static let frameBytes = 4_120
    private static let frames = 3
    private static let fileBytes = 16 << 20
    /// About what a client and a gateway take between two flushes.
    private static let pauseMicroseconds: UInt32 = 1_000

    /// - Returns: µs of each flush with its writes, in ascending order; nil if there are none.
    static func times(in folder: String, seconds: Double) -> [Double]? {
        let path = "\(folder)/disk"
        let file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard file >= 0 else { return nil }
        defer {
            close(file)
            unlink(path)
        }
        guard fill(file) else { return nil }
        let end = Date(timeIntervalSinceNow: seconds)
        var (times, offset) = ([Double](), 0)
        while Date() < end {
            usleep(pauseMicroseconds)
            let start = ContinuousClock.now
            guard flush(file, at: offset) else { return nil }
            times.append(start.duration(to: .now) / .microseconds(1))
            offset = (offset + frames * frameBytes) % (fileBytes - frames * frameBytes)
        }
        return times.isEmpty ? nil : times.sorted()
    }

    private static func fill(_ file: Int32) -> Bool {
        let zeros = [UInt8](repeating: 0, count: fileBytes)
        return pwrite(file, zeros, fileBytes, 0) == fileBytes && fsync(file) == 0
    }

    private static func flush(_ file: Int32, at offset: Int) -> Bool {
        let frame = [UInt8](repeating: 1, count: frameBytes)
        for index in 0..<frames {
            guard pwrite(file, frame, frameBytes, offset + index * frameBytes) == frameBytes else { return false }
        }
        return fdatasync(file) == 0
    }
}
