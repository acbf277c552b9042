import Foundation

/// `portcullis-sim attack` against a gateway, from its own addresses in 127.0.0.0/8.
package final class AttackProcess: Sendable {
    private let child: ChildProcess

    private init(_ child: ChildProcess) {
        self.child = child
    }

    deinit {
        child.signal(SIGKILL)
    }

    /// The limit if the test doesn't end it before.
    private static let maximumSeconds = 240

    /// Returns when every attacker has its slot or has been refused.
    ///
    /// - Parameter ca: the CA of the gateway's certificate, if it has one.
    package static func start(
        on gateway: GatewayProcess, ca: String?, _ arguments: [String]
    ) async throws -> AttackProcess {
        let trust = ca.map { ["--ca", $0] } ?? []
        let child = try ChildProcess(
            Binaries.find("portcullis-sim"),
            ["attack", "--gateway", "\(gateway.isTLS ? "https" : "http")://localhost:\(gateway.port)"]
                + ["--seconds", "\(maximumSeconds)"] + trust + arguments)
        let attack = AttackProcess(child)
        _ = try await child.output.wait(for: "the attack") { output in
            if output.ending != nil { throw EdgeTestError("the attack is over already: \(output)") }
            return output.outputLines.first { $0.contains("under way") }
        }
        return attack
    }

    package var isOver: Bool { child.output.current.ending != nil }
}
