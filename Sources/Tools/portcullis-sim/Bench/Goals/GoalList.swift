/// The project's goals, compared with a benchmark's results.
enum GoalList {
    /// Subjects that are known to be missing, and other reasons for missing figures.
    struct Circumstances: Sendable {
        /// Subjects that aren't installed.
        var absent: Set<Subject> = []
        var cores = 2
        /// The number of idle sessions beside the busy ones.
        var idleSessions = 9_000
        var hasDatabase = true
    }

    static func goals(_ results: BenchResults, _ circumstances: Circumstances) -> [Goal] {
        floorGoals(results) + peerGoals(results, circumstances) + gateGoals(results, circumstances)
            + sessionGoals(results, circumstances)
    }

    static let notRun = "left out of this run"

    /// Compared with the floor that writes at once, which is the stricter limit.
    private static func floorGoals(_ results: BenchResults) -> [Goal] {
        func goal(
            _ what: String, _ most: Double, bytes: Int = 64, window: Int = 1, isBurst: Bool = false,
            _ subject: Subject = .portcullis
        ) -> Goal {
            let cell = Cell.flood(bytes: bytes, clients: 100, window: window, isBurst: isBurst)
            return Goal(
                what: what, limit: .atMost(most), unit: .times,
                measured: results.ratio(.cpuPerMessage, of: subject, cell, to: .floorAtOnce), unmeasured: notRun)
        }
        let common = "CPU per message, 100 connections, one reactor, against the C floor that writes at once"
        return [
            goal("\(common): raw, 64 B, one in flight", 0.86),
            goal("… four in flight, sent together", 0.55, window: 4, isBurst: true),
            goal("… four in flight, each answer brings the next", 0.55, window: 4),
            goal("… sixteen in flight, sent together", 0.20, window: 16, isBurst: true),
            goal("… sixteen in flight, each answer brings the next", 0.20, window: 16),
            goal("… raw, 1 KiB, one in flight", 0.90, bytes: 1_024),
            goal("… raw, 16 KiB, one in flight", 0.86, bytes: 16_384),
            goal("… typed dialect, session layer and all limits on, 64 B, one in flight", 1.25, .portcullisTyped),
        ]
    }

    private static func peerGoals(_ results: BenchResults, _ circumstances: Circumstances) -> [Goal] {
        func goal(_ what: String, _ most: Double, _ peer: Subject, _ package: String) -> Goal {
            Goal(
                what: what, limit: .atMost(most), unit: .times,
                measured: results.ratio(
                    .cpuPerMessage, of: .portcullis, Cell.flood(bytes: 64, clients: 100, window: 1), to: peer),
                unmeasured: circumstances.absent.contains(peer)
                    ? "\(package) isn't installed (scripts/bench --install)" : notRun)
        }
        let common = "CPU per message, raw, 64 B, 100 connections, one in flight, against"
        return [
            goal("\(common) websockify (Python)", 0.1, .websockify, "websockify"),
            goal("… websocat", 0.7, .websocat, "websocat"),
            Goal(
                what: "… websockify in Go", limit: .atMost(0.8), unit: .times, measured: nil,
                unmeasured: "neither Debian nor PyPI has one"),
            goal("… HAProxy's TLS-to-TCP pass (no WebSocket), same bytes", 1.0, .haproxy, "haproxy"),
        ]
    }

    private static func gateGoals(_ results: BenchResults, _ circumstances: Circumstances) -> [Goal] {
        [
            Goal(
                what: "CPU per connect without the gate, against the other build (--earlier)", limit: .atMost(1),
                unit: .times, measured: results.ratio(.cpuPerConnect, of: .portcullis, Cell.ungated, to: .earlier),
                unmeasured: circumstances.absent.contains(.earlier) ? "--earlier names no other build" : notRun),
            Goal(
                what: "gated connects a second over ungated ones, TLS 1.3, P-256", limit: .atLeast(0.8), unit: .percent,
                measured: results.ratio(
                    .cpuPerConnect, of: .portcullis, Cell.ungated, to: .portcullis, Cell.gated),
                unmeasured: notRun),
            Goal(
                what: "connects a second with an access token over connects with an assertion", limit: .atLeast(1.1),
                unit: .times,
                measured: results.ratio(
                    .cpuPerConnect, of: .portcullis, Cell.gated, to: .portcullis, Cell.withToken),
                unmeasured: notRun),
            signedGoal(
                "CPU per request to /authz, 1 KiB of body, signed with it, against a token's proof", recipe: 1, results),
            signedGoal("… signed with its digest", recipe: 2, results),
            signInGoal(
                "CPU per sign-in with a passkey, against an access token by an assertion", 1.1, Cell.signIn, results),
            signInGoal(
                "… with PostgreSQL", 1.25, Cell.signInWithDatabase, results,
                unmeasured: circumstances.hasDatabase ? notRun : "PostgreSQL isn't installed"),
            signInGoal("CPU per refresh, against an access token by an assertion", 0.8, Cell.refresh, results),
            Goal(
                what: "a refresh, one at a time, among 100,000 families in a file, 99th percentile",
                limit: .atMost(2_000), unit: .microseconds,
                measured: results.spread(.latencyP99, of: .portcullis, Cell.refreshAmongMany), unmeasured: notRun),
            Goal(
                what: "assertion check inside the gate (gated − ungated − challenge)", limit: .atMost(150),
                unit: .microseconds, measured: assertionCheck(results), unmeasured: notRun),
        ]
    }

    /// Both verify one signature of the device; a signed request writes its counter, a proof is kept in memory.
    private static func signedGoal(_ what: String, recipe: Int, _ results: BenchResults) -> Goal {
        Goal(
            what: what, limit: .atMost(1.5), unit: .times,
            measured: results.ratio(
                .cpuPerAuthorization, of: .portcullis, Cell.signed(recipe: recipe, bytes: 1_024), to: .portcullis,
                Cell.authorization),
            unmeasured: notRun)
    }

    /// Each row has all requests that a client needs: challenge and token, options and sign-in, a refresh alone. An
    /// assertion and a passkey are verified beside the proof, and a token is signed. The token by an assertion is one
    /// of a gateway on a file; only a sign-in and a refresh wait for its disk.
    private static func signInGoal(
        _ what: String, _ most: Double, _ cell: String, _ results: BenchResults, unmeasured: String = notRun
    ) -> Goal {
        Goal(
            what: what, limit: .atMost(most), unit: .times,
            measured: results.ratio(.cpuPerToken, of: .portcullis, cell, to: .portcullis, Cell.token),
            unmeasured: unmeasured)
    }

    /// The additional cost of a gated connect over an ungated one, without the request for the challenge.
    static func assertionCheck(_ results: BenchResults) -> Spread? {
        guard let gated = results.spread(.cpuPerConnect, of: .portcullis, Cell.gated),
            let ungated = results.spread(.cpuPerConnect, of: .portcullis, Cell.ungated),
            let challenge = results.spread(.cpuPerChallenge, of: .portcullis, Cell.challenge)
        else { return nil }
        return Spread([gated.median - ungated.median - challenge.median])
    }

    private static func sessionGoals(_ results: BenchResults, _ circumstances: Circumstances) -> [Goal] {
        let idle = circumstances.idleSessions
        let flood = Cell.flood(bytes: 64, clients: 100, window: 1)
        func counted(_ what: String, _ quantity: Quantity, _ most: Double, _ subject: Subject = .portcullis) -> Goal {
            Goal(
                what: what, limit: .atMost(most), unit: .count,
                measured: results.spread(quantity, of: subject, flood), unmeasured: notRun)
        }
        return [
            Goal(
                what: "throughput kept with \(idle) idle sessions beside 100 busy ones", limit: .atLeast(0.95),
                unit: .percent,
                measured: results.ratio(
                    .cpuPerMessage, of: .portcullis, Cell.busy(clients: 100, idle: 0), to: .portcullis,
                    Cell.busy(clients: 100, idle: idle)),
                unmeasured: notRun),
            Goal(
                what: "resident memory per idle wss session, gate to TCP", limit: .atMost(13), unit: .kibibytes,
                measured: results.spread(.residentPerSession, of: .portcullis, Cell.idle), unmeasured: notRun),
            counted("system calls per relayed message, raw, one in flight", .systemCallsPerMessage, 4.2),
            counted("allocations per relayed message in the steady state, raw", .allocationsPerMessage, 0),
            counted("… typed", .allocationsPerMessage, 0, .portcullisTyped),
            Goal(
                what: "two reactors against one, CPU-bound", limit: .atLeast(1.8), unit: .times,
                measured: results.ratio(
                    .messagesPerSecond, of: .portcullis, Cell.twoReactors, to: .portcullis, Cell.oneReactor),
                unmeasured: circumstances.cores < 4
                    ? "not measurable on \(circumstances.cores) cores: the load needs two besides" : notRun),
        ]
    }
}
