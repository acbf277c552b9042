/// CPU per relayed message, by size, connections and messages in flight; and latency at a fixed rate.
extension BenchRun {
    private struct Work {
        let bytes, clients, window: Int
        var isBurst = false
        let subjects: [Subject]
        let rounds: Int

        var cell: String { Cell.flood(bytes: bytes, clients: clients, window: window, isBurst: isBurst) }
    }

    func measureMessages() throws {
        let room = try ServerRoom(settings)
        let subjects = Subject.allCases.filter(settings.has)
        var servers: [Subject: Server] = [:]
        for subject in subjects { servers[subject] = try server(for: subject, room) }
        for work in works {
            for round in 0..<work.rounds {
                // The order rotates, so that drift affects all subjects equally.
                let present = work.subjects.filter { servers[$0] != nil }
                for subject in present.rotated(by: round) {
                    guard let server = servers[subject] else { continue }
                    var job = job(.flood, clients: work.clients, bytes: work.bytes, window: work.window)
                    job.isBurst = work.isBurst
                    recordMessages(try load(job, on: subject, server, room), subject, work.cell, round: round)
                }
            }
            say(summary(.cpuPerMessage, work.cell, work.subjects))
        }
    }

    /// A server that fails to start is left out, unless it is ours.
    private func server(for subject: Subject, _ room: ServerRoom) throws -> Server? {
        do {
            return try room.server(for: subject)
        } catch {
            guard !Subject.required.contains(subject) else { throw error }
            results.note("\(subject.title) did not start.")
            return nil
        }
    }

    private var works: [Work] {
        let pair = [.portcullis, .earlier, .floor, .floorAtOnce].filter(settings.has)
        let fast: [Subject] = pair + [.haproxy, .websocat]
        let few = plan.isFull ? fast : pair
        func work(_ bytes: Int, _ window: Int, isBurst: Bool = false, _ subjects: [Subject]) -> Work {
            Work(
                bytes: bytes, clients: 100, window: window, isBurst: isBurst, subjects: subjects, rounds: plan.rounds)
        }
        var works = [
            work(64, 1, Subject.allCases), work(64, 4, few), work(64, 4, isBurst: true, few), work(64, 16, few),
            work(64, 16, isBurst: true, few), work(1_024, 1, few), work(16_384, 1, few),
        ]
        for clients in [1, 100, 1_000] {
            for bytes in [64, 1_024, 16_384]
            where !works.contains(where: { $0.bytes == bytes && $0.clients == clients }) {
                works.append(
                    Work(
                        bytes: bytes, clients: clients, window: 1, subjects: few, rounds: plan.furtherRounds))
            }
        }
        return works
    }

    func measureLatency() throws {
        let room = try ServerRoom(settings)
        let subjects = [.portcullis, .portcullisTyped, .earlier, .floor, .floorAtOnce, .haproxy, .websocat].filter(
            settings.has)
        for round in 0..<plan.furtherRounds {
            for subject in subjects {
                guard let server = try server(for: subject, room) else { continue }
                var job = job(.echo)
                job.rate = 20
                job.seconds *= 2
                recordMessages(try load(job, on: subject, server, room), subject, Cell.latency, round: round)
            }
        }
        say(summary(.latencyP99, Cell.latency, subjects))
    }

    /// One line with the figures of each subject.
    func summary(_ quantity: Quantity, _ cell: String, _ subjects: [Subject]) -> String {
        let found = subjects.compactMap { subject in
            results.spread(quantity, of: subject, cell).map { "\(subject.title) \(Figures.short($0.median))" }
        }
        return "\(cell): \(quantity.title) [\(quantity.unit)]: \(found.joined(separator: ", "))"
    }
}

extension Array {
    func rotated(by count: Int) -> [Element] {
        guard !isEmpty else { return self }
        let start = count % self.count
        return Array(self[start...] + self[..<start])
    }
}
