import ArgumentParser
import DeviceSimulation
import Foundation
import Glibc
import Logging
import Reactors
import Synchronization

struct LoadCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "load",
        abstract: "Many clients at once: load a gateway, measure it, and check every byte that comes back.",
        discussion: """
            Scenarios: echo (messages at --rate), flood (--window messages in flight), mud (typed lines at --rate, with pauses), idle,
            connect (connect, close, again), flap (clients vanish at random and come back), slow (a flood to clients that hardly read), challenge (requests for challenges), token
            (requests for access tokens), proof (requests to /authz of --admin, with a token and a new proof each), signed (requests to /authz that the
            device has signed, with bodies of --size bytes), passkey (sign-ins of players, who have signed up with a device's access token before; --gateway is
            the PUBLIC_ORIGIN), refresh (refreshes of such players; with fewer clients than devices these take turns).

            The gateway's target is portcullis-sim echo. Latency counts from the intended time of sending, so a gateway that stalls is
            charged for what waits meanwhile. It ends with 0 only if nothing was lost, doubled, corrupt or refused.
            """)

    @OptionGroup var gateway: DeviceCommand.GatewayOptions
    @OptionGroup var load: LoadOptions
    @OptionGroup var identity: LoadIdentityOptions

    @Flag(help: "The report as JSON.")
    var json = false

    @Option(help: "A file that gets the report as JSON besides.")
    var save: String?

    @Flag(help: "No progress.")
    var quiet = false

    @Option(help: "The gateway's process, for its CPU and memory.")
    var pid: Int32?

    @Option(
        help:
            "A file whose first eight bytes are a counter of the gateway's process; the difference is reported."
    )
    var counter: String?

    @Option(help: "A kind of error that is counted and doesn't fail the run; may be given several times.")
    var tolerate: [String] = []

    func run() async throws {
        FileLimit.raise()
        endOnInterrupt()
        var settings = try load.settings(edge: gateway.settings(), usesTokens: identity.token)
        settings.edge.certificatePath = try ReadableFile.check(identity.certificate, of: "--certificate")
        settings.edge.privateKeyPath = try ReadableFile.check(identity.key, of: "--key")
        if let pid, ProcessTree(root: pid) == nil { throw SimOutput.failure("there is no process \(pid).") }
        _ = try ReadableFile.check(counter, of: "--counter")
        let credentials = try identity.credentials(clients: settings.clients)
        if settings.usesTokens || settings.scenario == .signed, case .none = credentials {
            throw SimOutput.failure("\(settings.scenario.rawValue) needs devices: --device or --authority.")
        }
        let workers = try await makeWorkers(settings, credentials)
        try await register(credentials, workers)
        let report = try await LoadRun(
            settings: settings, workers: workers, gatewayPID: pid, counterPath: counter,
            tolerated: Set(tolerate.map(ErrorKind.init(rawValue:))), gatewayName: gateway.gateway,
            progress: ProgressOutput(isQuiet: quiet)
        ).run()
        try await credentials.save(workers)
        if let save { try (report.json + "\n").write(toFile: save, atomically: true, encoding: .utf8) }
        SimOutput.show(json ? try report.json + "\n" : report.table)
        if !report.isGood { throw ExitCode.failure }
    }

    private func makeWorkers(
        _ settings: LoadSettings, _ credentials: LoadCredentials
    ) async throws -> [Pinned<LoadWorker>] {
        var workers: [Pinned<LoadWorker>] = []
        for thread in 0..<load.threads {
            let reactor = Reactor(index: thread, logger: Logger(label: "load"))
            try reactor.start()
            let devices = credentials.devices(thread: thread, of: load.threads)
            let made: Result<Pinned<LoadWorker>, any Error> = await withCheckedContinuation { continuation in
                reactor.submit { [threads = load.threads] in
                    continuation.resume(
                        returning: Result {
                            Pinned(
                                try LoadWorker.make(
                                    on: reactor, settings, devices: devices, thread: thread, of: threads), to: reactor)
                        })
                }
            }
            workers.append(try made.get())
        }
        return workers
    }

    private func register(_ credentials: LoadCredentials, _ workers: [Pinned<LoadWorker>]) async throws {
        guard case .new(_, let authority) = credentials else { return }
        for worker in workers {
            let errors = await withCheckedContinuation { continuation in
                worker.reactor.submit {
                    guard let devices = worker.value.devices else {
                        return continuation.resume(returning: ErrorCounts())
                    }
                    devices.register(by: authority) { continuation.resume(returning: $0) }
                }
            }
            guard errors.total == 0 else {
                let kinds = errors.counts.sorted { $0.key < $1.key }.map { "\($0.key.rawValue) \($0.value)" }
                throw SimOutput.failure(
                    "devices couldn't be registered: \(kinds.joined(separator: ", ")).",
                    hint:
                        "raise the gateway's CHALLENGES_PER_MINUTE, of which registrations may be a tenth, or give more --sources."
                )
            }
        }
    }

    /// The first SIGINT ends the measurement, a second one the process.
    private func endOnInterrupt() {
        signal(SIGINT) { _ in
            LoadRun.isInterrupted.store(true, ordering: .relaxed)
            signal(SIGINT, SIG_DFL)
        }
    }
}

extension LoadWorker {
    /// On the reactor's thread.
    static func make(
        on reactor: Reactor, _ settings: LoadSettings, devices: [SimulatedDevice], thread: Int, of threads: Int
    ) throws -> LoadWorker {
        let sources = (0..<GatewayRequests.maximumConnections).map {
            settings.sources.address(of: thread * GatewayRequests.maximumConnections + $0)
        }
        var requests: GatewayRequests?
        if !devices.isEmpty || settings.scenario == .challenge {
            requests = try GatewayRequests(on: reactor, settings: settings.edge, sources: sources)
        }
        let worker = try LoadWorker(
            on: reactor, settings: settings, thread: thread, of: threads, requests: requests,
            authorizer: settings.authorizer.map {
                try GatewayRequests(on: reactor, settings: $0, sources: sources)
            },
            devices: requests.flatMap { devices.isEmpty ? nil : LoadDevices(devices, requests: $0, settings) })
        // Never released: connections and timers call it until the process ends.
        return Unmanaged.passRetained(worker).takeUnretainedValue()
    }
}
