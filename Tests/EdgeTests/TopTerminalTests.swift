import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// `portcullis top` on a terminal, which the program `script` makes.
    @Suite(.enabled(if: (try? ChildProcess.executable("script")) != nil, "needs the program script"))
    struct TopTerminalTests {
        private static let enter = "\u{1B}[?1049h"
        private static let leave = "\u{1B}[?25h\u{1B}[?1049l"

        private let directory: TemporaryDirectory
        private var path: String { directory.file("control.sock") }

        init() throws {
            directory = try TemporaryDirectory()
        }

        private func start() async throws -> Edge {
            try await Edge.start { $0.setting("CONTROL_SOCKET_PATH", path) }
        }

        /// - Returns: `top` in a terminal of 60 columns and 12 rows, with its first frame, and its process.
        private func top() async throws -> (terminal: ChildProcess, process: Int32) {
            let command =
                "stty cols 60 rows 12; echo \"process $$ .\"; exec \(try Binaries.portcullis()) top --socket \(path)"
            let terminal = try ChildProcess(
                ChildProcess.executable("script"), ["-qec", command, directory.file("typescript")])
            let process = try await terminal.output.wait(for: "the first frame") { output -> Int32? in
                if output.ending != nil { throw EdgeTestError("top ended: \(output)") }
                guard output.outputText.contains("q quit") else { return nil }
                return output.outputText.firstMatch(of: /process (\d+) \./).flatMap { Int32($0.1) }
            }
            return (terminal, process)
        }

        private func frames(_ output: ChildOutput) -> [Substring] {
            output.outputText.split(separator: "\u{1B}[1;1H")
        }

        @Test func `a frame fits the terminal, keys work, and q restores the screen`() async throws {
            let edge = try await start()
            let socket = try await edge.gateway.open(Handshake())
            try await Edge.expectEcho(socket)
            let (terminal, _) = try await top()
            try terminal.write("s")
            try await terminal.output.wait(for: "the next order") {
                $0.outputText.contains("sort by idle") ? true : nil
            }
            try terminal.write("p")
            try await terminal.output.wait(for: "the pause") { $0.outputText.contains("[paused]") ? true : nil }
            try terminal.write("q")
            let output = try await terminal.ended()
            #expect(output.ending == .exited(0) && output.outputText.hasSuffix(Self.leave), "\(output)")
            #expect(output.outputText.contains(Self.enter) && output.outputText.contains("1 sessions"))
            let lines = frames(output).dropFirst().flatMap { $0.split(separator: /\u{1B}\[\d+;1H/) }
            #expect(
                !lines.isEmpty
                    && lines.allSatisfy { $0.replacing("\u{1B}[K", with: "").utf8.count <= 60 + Self.leave.utf8.count })
            #expect(!output.outputText.contains("\u{1B}[13;1H"), "12 rows")
        }

        @Test func `top prints one frame for scripts`() async throws {
            let edge = try await start()
            let socket = try await edge.gateway.open(Handshake())
            try await Edge.expectEcho(socket)
            _ = try await edge.gateway.refusal(Handshake().path("/nowhere"))
            let output = try await GatewayProcess.run(["top", "--once", "--socket", path])
            expectDone(output)
            #expect(output.outputText.contains("1 sessions") && output.outputText.contains("127.0.0.1"), "\(output)")
            #expect(output.outputText.contains("refusals:  per second"), "\(output)")
            #expect(output.outputLines.allSatisfy { $0.utf8.count <= 80 && !$0.utf8.contains(0x1B) })
            let live = try await GatewayProcess.run(["top", "--socket", path])
            #expect(live.ending == .exited(1) && live.errorText.contains("needs a terminal"), "\(live)")
        }

        @Test func `a signal ends it and restores the screen`() async throws {
            let edge = try await start()
            let (terminal, process) = try await top()
            kill(process, SIGTERM)
            let output = try await terminal.ended()
            #expect(output.outputText.hasSuffix(Self.leave), "\(output)")
            try await edge.expectHealthy()
        }

        @Test func `a gateway that goes is reported on the restored screen`() async throws {
            let edge = try await start()
            let (terminal, _) = try await top()
            try await edge.gateway.stop()
            let output = try await terminal.ended()
            let parts = output.outputText.components(separatedBy: Self.leave)
            #expect(parts.count == 2 && parts[1].contains("no gateway answers"), "\(output)")
        }
    }
}
