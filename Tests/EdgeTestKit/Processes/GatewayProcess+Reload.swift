import Glibc

extension GatewayProcess {
    /// Writes the gateway's environment file, has it read again, and returns when the settings are in effect.
    ///
    /// - Parameter changed: nil: only the files that the settings name have changed.
    package func reload(_ changed: GatewaySettings? = nil) async throws {
        let before = reloads(in: output)
        if let changed {
            let lines = changed.values.map { "\($0.key)=\($0.value)\n" }
            try directory.write(lines.joined(), to: "portcullis.env")
        }
        child.signal(SIGHUP)
        try await child.output.wait(for: "the end of a reload", within: .seconds(20)) { output in
            if output.errorText.contains("the old settings stay") { throw EdgeTestError("refused: \(output)") }
            return reloads(in: output) > before ? true : nil
        }
    }

    private func reloads(in output: ChildOutput) -> Int {
        output.errorLines.count { $0.contains(" reloaded") }
    }
}
