/// What the gate costs a connect, and what a connect costs without it.
extension BenchRun {
    func measureConnects() throws {
        let room = try ServerRoom(settings)
        let gated = try room.gateway(.gated)
        let open = try room.gateway(.open)
        var connect = job(.connect, clients: 64)
        connect.seconds *= 2
        var withDevices = connect
        withDevices.further = ["--authority", "\(settings.folder)/authority.json", "--devices", "64"]
        for round in 0..<plan.rounds {
            recordConnects(try load(withDevices, on: .portcullis, gated, room), Cell.gated, round: round)
            recordConnects(try load(connect, on: .portcullis, open, room), Cell.ungated, round: round)
            let challenges = try load(job(.challenge, clients: 16), on: .portcullis, gated, room)
            results.record(
                challenges?.gatewayProcess?.cpuMicrosecondsPerMessage, .cpuPerChallenge, of: .portcullis,
                Cell.challenge,
                round: round)
        }
        for cell in [Cell.gated, Cell.ungated] {
            say(summary(.cpuPerConnect, cell, [.portcullis]))
            say(summary(.connectsPerSecond, cell, [.portcullis]))
        }
        say(summary(.cpuPerChallenge, Cell.challenge, [.portcullis]))
    }

    private func recordConnects(_ report: LoadReport?, _ cell: String, round: Int) {
        guard let report, let process = report.gatewayProcess else { return }
        results.record(process.cpuMicrosecondsPerConnect, .cpuPerConnect, of: .portcullis, cell, round: round)
        results.record(report.connects.perSecond, .connectsPerSecond, of: .portcullis, cell, round: round)
        results.record(process.cpuPercent, .coreLoad, of: .portcullis, cell, round: round)
    }
}
