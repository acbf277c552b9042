import Foundation
import PortcullisClient
#if canImport(PortcullisClientNIO)
    import PortcullisClientNIO
#endif

/// Plays a session from a terminal, or sends one request with an access token.
@main
struct Example {
    static func main() async {
        do {
            let options = try Options(Array(CommandLine.arguments.dropFirst()))
            let client = GateClient(configuration: try options.configuration, platform: try platform(options))
            if let request = options.request {
                try await send(request, client)
            } else {
                await play(client, options)
            }
        } catch let error as GateError {
            fail("\(error)\n\(error.userMessage)")
        } catch { fail("\(error)") }
    }

    /// Apple's systems have everything; elsewhere there is no App Attest, so a development token stands in for it.
    private static func platform(_ options: Options) throws -> ClientPlatform {
        #if canImport(PortcullisClientNIO)
            let transport = try NIOTransport(trust: options.trust)
            return ClientPlatform(transport: transport, log: { level, text in note("\(level): \(text)") })
        #else
            return .apple(trust: try options.trust)
        #endif
    }

    private static func send(_ request: (method: String, url: String, body: String?), _ client: GateClient) async throws
    {
        guard let method = HTTPMethod(rawValue: request.method) else {
            throw Options.Problem(description: "no such method")
        }
        guard let url = URL(string: request.url) else { throw Options.Problem(description: "no URL") }
        let response = try await client.tokens.performRequest(
            url: url, method: method, body: request.body.map { Data($0.utf8) })
        FileHandle.standardOutput.write(response.body)
        if let refusal = response.refusal { fail("\(refusal)") }
    }

    /// Reads lines, and begins anew whenever a session ends in a way that permits it.
    private static func play(_ client: GateClient, _ options: Options) async {
        let lines = Lines()
        while true {
            let connection = client.connect(ConnectionOptions(options.admission, dialect: options.dialect))
            let typing = Task {
                while let line = await lines.next() { if (try? await connection.send(line)) == nil { note("unsent") } }
                if await lines.isAtEnd { await connection.close() }
            }
            let end = await show(connection)
            typing.cancel()
            switch end?.action {
            case .connectAgain: note("connecting again")
            case .connectLater(let seconds):
                note("connecting again in \(Int(seconds)) s")
                try? await Task.sleep(nanoseconds: UInt64(seconds * 1e9))
            case .askUser, .giveUp: fail(end?.error.map { "\($0)\n\($0.userMessage)" } ?? "the session has ended")
            case .nothing, nil: return
            }
        }
    }

    private static func show(_ connection: GatedConnection) async -> ConnectionEnd? {
        var last: ConnectionEnd?
        for await event in connection {
            switch event {
            case .output(let output): FileHandle.standardOutput.write(output.bytes)
            case .state(.ended(let end)):
                note("ended: \(end.cause)")
                last = end
            case .state(let state): note("\(state)")
            case .gap(let gap): note("output was lost: \(gap.bytes.map { "\($0) bytes" } ?? "nobody knows how much")")
            case .input(let outcome): if case .delivered = outcome { break } else { note("input: \(outcome)") }
            case .notice(let notice): note("\(notice.code): \(notice.message)")
            case .prompt, .echo, .gmcp: break
            }
        }
        return last
    }

    static func note(_ text: String) { FileHandle.standardError.write(Data("[\(text)]\n".utf8)) }

    private static func fail(_ text: String) -> Never {
        note(text)
        exit(1)
    }
}

/// Lines of standard input, for one reader after the other: a line that a cancelled reader has asked for isn't lost.
actor Lines {
    private var lines: [String] = []
    private var waiting: [CheckedContinuation<Void, Never>] = []
    private(set) var isAtEnd = false

    init() {
        Thread.detachNewThread {
            // One after the other: tasks have no order.
            let isAdded = DispatchSemaphore(value: 0)
            while true {
                let line = readLine()
                Task {
                    await self.add(line)
                    isAdded.signal()
                }
                isAdded.wait()
                if line == nil { return }
            }
        }
    }

    private func add(_ line: String?) {
        if let line { lines.append(line) } else { isAtEnd = true }
        wake()
    }

    func next() async -> String? {
        while lines.isEmpty, !isAtEnd, !Task.isCancelled {
            await withTaskCancellationHandler {
                await withCheckedContinuation { waiting.append($0) }
            } onCancel: {
                Task { await self.wake() }
            }
        }
        return lines.isEmpty || Task.isCancelled ? nil : lines.removeFirst()
    }

    private func wake() {
        for reader in waiting { reader.resume() }
        waiting = []
    }
}
