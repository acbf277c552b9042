/// The cost of access tokens and of what they are used for.
extension BenchRun {
    private struct TokenWork {
        let job: LoadJob
        let gateway: Server
        let quantity: Quantity
        let cell: String
    }

    /// An access token by an assertion, by a passkey and by a refresh, a request that is checked with one, and a
    /// request that its device has signed.
    func measureTokens() throws {
        let room = try ServerRoom(settings)
        let admin = try LoopbackPort.free()
        let gateway = try room.gateway(
            .accounts,
            extra: [
                "ADMIN_BIND": "127.0.0.1:\(admin)", "SIGNED_REQUESTS": "on", "AUTHZ_ADMIT": "token+signed",
                "AUTHZ_BODY": "forwarded",
            ])
        let shared = try settings.database.map { try room.gateway(.accounts, extra: Self.store($0)) }
        var works = [
            token(.token, gateway, Cell.token), token(.passkey, gateway, Cell.signIn),
            token(.refresh, gateway, Cell.refresh),
            token(.passkey, gateway, Cell.signInAtMaximum, devices: Self.fewPlayers),
        ]
        if let shared {
            works.append(token(.passkey, shared, Cell.signInWithDatabase))
            works.append(token(.refresh, shared, Cell.refreshWithDatabase))
        }
        works += authorizations(by: gateway, at: "http://127.0.0.1:\(admin)")
        for round in 0..<plan.rounds {
            for work in works {
                let process = try load(work.job, on: .portcullis, work.gateway, room)?.gatewayProcess
                results.record(
                    process?.cpuMicrosecondsPerMessage, work.quantity, of: .portcullis, work.cell, round: round)
                results.record(process?.cpuPercent, .coreLoad, of: .portcullis, work.cell, round: round)
            }
        }
        for work in works { say(summary(work.quantity, work.cell, [.portcullis])) }
    }

    private static func store(_ database: BenchSettings.Database) -> [String: String] {
        ["STORE_URL": database.url, "STORE_SECRETS_KEY_PATH": database.keyPath, "ATTESTED_KEYS_PATH": ""]
    }

    /// So many that no player has begun all families of his account when a round ends.
    private static let players = 128
    /// So few that all have done so when the measurement begins.
    private static let fewPlayers = 16
    /// In which all sign up.
    private static let signUpSeconds = 2.0

    /// As many devices as players, each of which waits for its answer; the load has 16 connections.
    private func token(
        _ scenario: Scenario, _ gateway: Server, _ cell: String, devices: Int = players
    ) -> TokenWork {
        var job = job(scenario, clients: devices)
        job.warmUpSeconds += Self.signUpSeconds
        job.further = Self.devices(devices, settings)
        return TokenWork(job: job, gateway: gateway, quantity: .cpuPerToken, cell: cell)
    }

    private func authorizations(by gateway: Server, at admin: String) -> [TokenWork] {
        // The gateway remembers at most 1,000 proofs of one key in a minute.
        var proof = job(.proof, clients: 768)
        proof.further = Self.devices(768, settings) + ["--admin", admin]
        let signed = [(recipe: 1, bytes: 1_024), (2, 1_024), (1, 65_536)].map { recipe, bytes in
            var job = job(.signed, clients: 64, bytes: bytes)
            job.further = Self.devices(64, settings) + ["--admin", admin, "--recipe", "\(recipe)"]
            return TokenWork(
                job: job, gateway: gateway, quantity: .cpuPerAuthorization,
                cell: Cell.signed(recipe: recipe, bytes: bytes))
        }
        return [TokenWork(job: proof, gateway: gateway, quantity: .cpuPerAuthorization, cell: Cell.authorization)]
            + signed
    }
}
