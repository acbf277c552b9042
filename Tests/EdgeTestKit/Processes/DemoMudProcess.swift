import Foundation

/// The demo MUD of `portcullis-sim`, on a free port of the loopback.
package final class DemoMudProcess: Sendable {
    package let port: Int
    private let child: ChildProcess

    private init(port: Int, child: ChildProcess) {
        self.port = port
        self.child = child
    }

    deinit {
        child.signal(SIGKILL)
    }

    package static func start() async throws -> DemoMudProcess {
        let child = try ChildProcess(Binaries.find("portcullis-sim"), ["mud", "--port", "0"])
        do {
            let port = try await child.output.wait(for: "the demo MUD's port") { output in
                if output.ending != nil { throw EdgeTestError("the demo MUD did not start: \(output)") }
                let line = output.outputLines.first { $0.contains("the MUD listens on ") }
                return line?.split(separator: ":").last.flatMap { Int($0) }
            }
            return DemoMudProcess(port: port, child: child)
        } catch {
            child.signal(SIGKILL)
            throw error
        }
    }
}
