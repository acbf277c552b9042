import Foundation

/// Allocations, and a second reactor.
extension BenchRun {
    func measureAllocations() throws {
        guard let counter = settings.allocationCounter else { return }
        let room = try ServerRoom(settings)
        let cell = Cell.flood(bytes: 64, clients: 100, window: 1)
        for (subject, kind) in [(Subject.portcullis, GatewayInstance.Kind.open), (.portcullisTyped, .limited)] {
            let path = "\(settings.folder)/allocations-\(subject.rawValue)"
            let server = try room.gateway(
                kind, extra: ["LD_PRELOAD": counter, "ALLOCATION_COUNT_PATH": path])
            var job = job(.flood)
            job.warmUpSeconds *= 2
            job.further = ["--counter", path]
            let report = try load(job, on: subject, server, room)
            results.record(
                report?.gatewayProcess?.countedPerMessage, .allocationsPerMessage, of: subject, cell)
            say(summary(.allocationsPerMessage, cell, [subject]))
        }
    }

    /// Where there are cores besides: CPU-bound, so the load has to have more of them than the gateway.
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
