import Foundation

/// The real `portcullis serve`, started with the given settings and ready for connections.
package final class GatewayProcess: Sendable {
    package let port: Int
    package let isTLS: Bool
    package let settings: GatewaySettings
    package let child: ChildProcess
    /// Contains the key store, so that a second start can use it.
    package let directory: TemporaryDirectory

    private init(
        port: Int, isTLS: Bool, settings: GatewaySettings, child: ChildProcess, directory: TemporaryDirectory
    ) {
        self.port = port
        self.isTLS = isTLS
        self.settings = settings
        self.child = child
        self.directory = directory
    }

    deinit {
        child.signal(SIGKILL)
    }

    package var processID: Int32 { child.processID }
    package var output: ChildOutput { child.output.current }
    package var storePath: String { settings["ATTESTED_KEYS_PATH"] ?? Self.storePath(in: directory) }

    private static func storePath(in directory: TemporaryDirectory) -> String { directory.file("keys.sqlite") }

    /// Starts the gateway and waits for the line that reports its listening address.
    ///
    /// - Parameters:
    ///   - directory: that of an earlier gateway, to reuse its key store.
    ///   - maximumFiles: the descriptor limit of the process, for tests in which descriptors run out.
    ///   - disk: a small disk, for tests in which it runs full. It holds the key store unless the settings name another
    ///     place.
    ///   - stalling: a disk that can stall. It holds the key store under the same condition.
    ///   - clock: a clock that the test steps; not together with `stalling`.
    ///   - environment: variables in addition to those of every test.
    ///   - program: a copy of the program in another place; nil: the one that was built.
    /// - Throws: the process's output, if it ends or reports nothing within `limit`.
    package static func start(
        _ settings: GatewaySettings, in directory: TemporaryDirectory? = nil, maximumFiles: Int? = nil,
        disk: SmallDisk? = nil, stalling: StallingDisk? = nil, clock: SteppedClock? = nil, streamsAreOne: Bool = false,
        environment: [String: String] = [:], program: String? = nil, within limit: Duration = .seconds(60)
    ) async throws -> GatewayProcess {
        let directory = try directory ?? TemporaryDirectory()
        var settings = settings
        if let path = disk?.file("keys.sqlite") ?? stalling?.file("keys.sqlite"),
            settings["ATTESTED_KEYS_PATH"] == nil
        {
            settings["ATTESTED_KEYS_PATH"] = path
        }
        if settings["ATTESTED_KEYS_PATH"] == nil, settings["STORE_URL"] == nil {
            settings["ATTESTED_KEYS_PATH"] = storePath(in: directory)
        }
        let child = try launch(
            ["serve"], settings, in: directory, maximumFiles: maximumFiles, disk: disk, stalling: stalling,
            clock: clock, streamsAreOne: streamsAreOne, program: program, adding: environment)
        do {
            let (scheme, port) = try await child.output.wait(for: "the gateway's ready line", within: limit) { output in
                if let found = readyLine(output.errorLines) { return found }
                if output.ending != nil { throw EdgeTestError("the gateway did not start: \(output)") }
                return nil
            }
            return GatewayProcess(
                port: port, isTLS: scheme == "https", settings: settings, child: child, directory: directory)
        } catch {
            child.signal(SIGKILL)
            throw error
        }
    }

    /// Runs another command of the program (`check-config`, `keys …`) to its end.
    ///
    /// - Parameters:
    ///   - directory: where it runs; nil: in an empty one.
    ///   - environment: variables in addition to those of every test.
    package static func run(
        _ arguments: [String], _ settings: GatewaySettings? = nil, in directory: TemporaryDirectory? = nil,
        environment: [String: String] = [:], program: String? = nil
    ) async throws -> ChildOutput {
        let directory = try directory ?? TemporaryDirectory()
        let child = try launch(arguments, settings, in: directory, program: program, adding: environment)
        try child.closeInput()
        return try await child.ended()
    }

    /// The settings go into a file, as with an operator, and the environment stays plain.
    private static func launch(
        _ arguments: [String], _ settings: GatewaySettings?, in directory: TemporaryDirectory, maximumFiles: Int? = nil,
        disk: SmallDisk? = nil, stalling: StallingDisk? = nil, clock: SteppedClock? = nil, streamsAreOne: Bool = false,
        program other: String? = nil, adding additions: [String: String] = [:]
    ) throws -> ChildProcess {
        var arguments = arguments
        if let settings {
            let lines = settings.values.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)\n" }
            arguments += ["--env-file", try directory.write(lines.joined(), to: "portcullis.env")]
        }
        var environment = ChildProcess.plainEnvironment
        for (name, value) in ProcessInfo.processInfo.environment where name.hasSuffix("SAN_OPTIONS") {
            environment[name] = value
        }
        environment.merge(stalling?.environment ?? clock?.environment ?? [:]) { $1 }
        environment.merge(additions) { $1 }
        var program = try other ?? Binaries.portcullis()
        if let maximumFiles {
            arguments = ["-c", "ulimit -n \(maximumFiles) && exec \"$0\" \"$@\"", program] + arguments
            program = try ChildProcess.executable("sh")
        }
        if streamsAreOne {
            arguments = ["-c", "exec \"$0\" \"$@\" >&2", program] + arguments
            program = try ChildProcess.executable("sh")
        }
        if let disk { (program, arguments) = try disk.command(program, arguments) }
        return try ChildProcess(program, arguments, environment: environment, directory: directory.path)
    }

    /// The log line with `listening on https://127.0.0.1:PORT`, as text or as JSON.
    static func readyLine(_ lines: [String]) -> (scheme: String, port: Int)? {
        for line in lines {
            guard let found = line.firstMatch(of: /listening on (https?):\/\/[^ "]+:(\d+)[ "]/), let port = Int(found.2)
            else { continue }
            return (String(found.1), port)
        }
        return nil
    }
}

extension GatewayProcess {
    /// Kills the process without warning.
    package func killNow() async throws {
        child.signal(SIGKILL)
        try await child.ended()
    }

    /// Requests a drain.
    package func terminate() {
        child.signal(SIGTERM)
    }

    /// Requests a drain and waits for the process to end.
    @discardableResult
    package func stop(within limit: Duration = .seconds(30)) async throws -> ChildOutput {
        terminate()
        return try await child.ended(within: limit)
    }

    /// Waits for a log line that contains all of `words`.
    @discardableResult
    package func logLine(_ words: String..., within limit: Duration = .seconds(20)) async throws -> String {
        try await child.output.wait(for: "a log line with \(words)", within: limit) { output in
            (output.errorLines + output.outputLines).first { line in words.allSatisfy { line.contains($0) } }
        }
    }
}
