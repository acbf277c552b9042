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

    /// The cost of an access token, of a request that is checked with one, and of a request that its device has signed.
    func measureTokens() throws {
        let room = try ServerRoom(settings)
        let admin = try LoopbackPort.free()
        let gateway = try room.gateway(
            .gated,
            extra: [
                "ADMIN_BIND": "127.0.0.1:\(admin)", "SIGNED_REQUESTS": "on", "AUTHZ_ADMIT": "token+signed",
                "AUTHZ_BODY": "forwarded",
            ])
        var token = job(.token, clients: 16)
        token.further = Self.devices(16, settings)
        // The gateway remembers at most 1,000 proofs of one key in a minute.
        var proof = job(.proof, clients: 768)
        proof.further = Self.devices(768, settings) + ["--admin", "http://127.0.0.1:\(admin)"]
        let signed = Self.signed.map { recipe, bytes in
            var job = job(.signed, clients: 64, bytes: bytes)
            job.further =
                Self.devices(64, settings) + ["--admin", "http://127.0.0.1:\(admin)", "--recipe", "\(recipe)"]
            return (job, Quantity.cpuPerAuthorization, Cell.signed(recipe: recipe, bytes: bytes))
        }
        for round in 0..<plan.rounds {
            for (job, quantity, cell) in [
                (token, Quantity.cpuPerToken, Cell.token), (proof, .cpuPerAuthorization, Cell.authorization),
            ] + signed {
                let process = try load(job, on: .portcullis, gateway, room)?.gatewayProcess
                results.record(process?.cpuMicrosecondsPerMessage, quantity, of: .portcullis, cell, round: round)
                results.record(process?.cpuPercent, .coreLoad, of: .portcullis, cell, round: round)
            }
        }
        say(summary(.cpuPerToken, Cell.token, [.portcullis]))
        say(summary(.cpuPerAuthorization, Cell.authorization, [.portcullis]))
        for (_, quantity, cell) in signed { say(summary(quantity, cell, [.portcullis])) }
    }

    private static let signed = [(recipe: 1, bytes: 1_024), (2, 1_024), (1, 65_536)]

    private static func devices(_ count: Int, _ settings: BenchSettings) -> [String] {
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
