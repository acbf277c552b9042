import Foundation

/// Allocations, system calls, and a second reactor.
extension BenchRun {
    private static let counted = Cell.flood(bytes: 64, clients: 100, window: 1)

    func measureAllocations() throws {
        guard let counter = settings.allocationCounter else { return }
        let room = try ServerRoom(settings)
        let subjects = [Subject.portcullis, .portcullisTyped, .earlier, .floor, .floorAtOnce].filter(settings.has)
        for subject in subjects {
            let path = "\(settings.folder)/counts-\(subject.rawValue)"
            let allocations = path + "-allocations"
            let calls = path + "-calls"
            let server = try room.server(
                for: subject,
                extra: [
                    "LD_PRELOAD": counter, "ALLOCATION_COUNT_PATH": allocations, "SYSTEM_CALL_COUNT_PATH": calls,
                ])
            try count(.allocationsPerMessage, at: allocations, subject, server, room)
            try count(.systemCallsPerMessage, at: calls, subject, server, room)
        }
        say(summary(.allocationsPerMessage, Self.counted, subjects))
        say(summary(.systemCallsPerMessage, Self.counted, subjects))
    }

    private func count(
        _ quantity: Quantity, at path: String, _ subject: Subject, _ server: Server, _ room: ServerRoom
    ) throws {
        var job = job(.flood)
        job.warmUpSeconds *= 2
        job.further = ["--counter", path]
        let report = try load(job, on: subject, server, room)
        results.record(report?.gatewayProcess?.countedPerMessage, quantity, of: subject, Self.counted)
    }

    /// Runs only if there are further cores: it is CPU-bound, so the load needs more cores than the gateway.
    func measureReactors() throws {
        let others = Array(2..<settings.coreCount)
        let room = try ServerRoom(settings, targetThreads: others.count, targetCores: others)
        let one = try room.gateway(.open, reactors: 1, cores: [0])
        let two = try room.gateway(.open, reactors: 2, cores: [0, 1])
        var job = job(.flood, clients: 200, window: 16)
        job.threads = others.count
        for round in 0..<plan.rounds {
            for (server, cell) in [(one, Cell.oneReactor), (two, Cell.twoReactors)] {
                let report = try load(job, on: .portcullis, server, room, cores: others)
                recordMessages(report, .portcullis, cell, round: round)
            }
        }
        say(summary(.messagesPerSecond, Cell.oneReactor, [.portcullis]))
        say(summary(.messagesPerSecond, Cell.twoReactors, [.portcullis]))
    }
}
