/// The cost of a connect with and without the gate.
extension BenchRun {
    func measureConnects() throws {
        let room = try ServerRoom(settings)
        let gated = try room.gateway(.gated)
        let open = try room.gateway(.open)
        let earlier = try settings.earlier.map {
            (gated: try room.gateway(.gated, program: $0), open: try room.gateway(.open, program: $0))
        }
        var connect = job(.connect, clients: 64)
        connect.seconds *= 2
        var withDevices = connect
        withDevices.further = Self.devices(64, settings)
        var withTokens = withDevices
        withTokens.further.append("--token")
        for round in 0..<plan.rounds {
            try connects(withDevices, .portcullis, gated, room, Cell.gated, round: round)
            try connects(withTokens, .portcullis, gated, room, Cell.withToken, round: round)
            try connects(connect, .portcullis, open, room, Cell.ungated, round: round)
            if let earlier {
                try connects(withDevices, .earlier, earlier.gated, room, Cell.gated, round: round)
                try connects(connect, .earlier, earlier.open, room, Cell.ungated, round: round)
            }
            let challenges = try load(job(.challenge, clients: 16), on: .portcullis, gated, room)
            results.record(
                challenges?.gatewayProcess?.cpuMicrosecondsPerMessage, .cpuPerChallenge, of: .portcullis,
                Cell.challenge,
                round: round)
        }
        for cell in [Cell.gated, Cell.withToken, Cell.ungated] {
            say(summary(.cpuPerConnect, cell, [.portcullis, .earlier]))
            say(summary(.connectsPerSecond, cell, [.portcullis, .earlier]))
        }
        say(summary(.cpuPerChallenge, Cell.challenge, [.portcullis]))
    }

    static func devices(_ count: Int, _ settings: BenchSettings) -> [String] {
        ["--authority", "\(settings.folder)/authority.json", "--devices", "\(count)"]
    }

    private func connects(
        _ job: LoadJob, _ subject: Subject, _ server: Server, _ room: ServerRoom, _ cell: String, round: Int
    ) throws {
        let report = try load(job, on: subject, server, room)
        guard let report, let process = report.gatewayProcess else { return }
        results.record(process.cpuMicrosecondsPerConnect, .cpuPerConnect, of: subject, cell, round: round)
        results.record(report.connects.perSecond, .connectsPerSecond, of: subject, cell, round: round)
        results.record(process.cpuPercent, .coreLoad, of: subject, cell, round: round)
    }
}
