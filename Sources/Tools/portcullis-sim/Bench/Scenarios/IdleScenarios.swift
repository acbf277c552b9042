import Foundation
import Glibc

/// The cost of idle sessions: their memory, and the slowdown of busy sessions beside them.
extension BenchRun {
    /// The first hundred cause one-time allocations; the rest shows the cost of each session.
    private static let firstSessions = 100

    func measureIdleSessions() throws {
        let room = try ServerRoom(settings)
        let crowded = try room.gateway(.crowded)
        let idle = try fill(crowded, .portcullis, room)
        defer { idle.forEach { $0.process.end() } }
        let alone = try room.gateway(.open)
        // The goal is a difference of a few per cent, which is less than the variation between two rounds.
        for (clients, rounds) in [(100, 3 * plan.rounds), (1, plan.rounds)] {
            for round in 0..<rounds {
                let job = job(.flood, clients: clients)
                // Idle sessions still cost CPU time for pings, so their processes are stopped while the other server is
                // measured.
                let others = [crowded.process] + idle.map(\.process)
                others.forEach { $0.signal(SIGSTOP) }
                let without = try load(job, on: .portcullis, alone, room)
                others.forEach { $0.signal(SIGCONT) }
                usleep(300_000)
                recordMessages(without, .portcullis, Cell.busy(clients: clients, idle: 0), round: round)
                let with = try load(job, on: .portcullis, crowded, room)
                recordMessages(with, .portcullis, Cell.busy(clients: clients, idle: plan.idleSessions), round: round)
            }
            for idle in [0, plan.idleSessions] {
                say(summary(.cpuPerMessage, Cell.busy(clients: clients, idle: idle), [.portcullis]))
            }
        }
        idle.forEach { $0.process.end() }
        if settings.has(.earlier) {
            try fill(room.gateway(.crowded, program: settings.earlier), .earlier, room).forEach { $0.process.end() }
        }
        if plan.isFull {
            for subject in [Subject.floor, .floorAtOnce, .haproxy] where settings.has(subject) {
                try fill(room.server(for: subject), subject, room).forEach { $0.process.end() }
            }
        }
    }

    /// Opens the idle sessions and records the cost of one.
    private func fill(_ server: Server, _ subject: Subject, _ room: ServerRoom) throws -> [RunningLoad] {
        let first = try hold(Self.firstSessions, subject, server, room)
        let before = server.residentBytes
        let rest = try hold(plan.idleSessions - Self.firstSessions, subject, server, room)
        let after = server.residentBytes
        if let before, let after {
            let each = (Double(after) - Double(before)) / Double(plan.idleSessions - Self.firstSessions) / 1_024
            results.record(each, .residentPerSession, of: subject, Cell.idle)
        }
        say("\(subject.title): " + summary(.residentPerSession, Cell.idle, [subject]))
        return [first, rest]
    }

    private func hold(
        _ clients: Int, _ subject: Subject, _ server: Server, _ room: ServerRoom
    ) throws -> RunningLoad {
        var job = job(.idle, clients: clients)
        job.seconds = 3_600
        job.warmUpSeconds = 0
        let running = try startLoad(job, on: subject, server, room)
        guard running.awaitPhase("idle", seconds: 120), running.lastWords.contains("\(clients)/\(clients) clients")
        else {
            results.note("\(subject.title): \(clients) idle sessions were not all established: \(running.lastWords)")
            return running
        }
        // Memory of the last handshakes has been released by then.
        usleep(1_500_000)
        return running
    }
}
