import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// What a session has that neither its client nor its target holds at the moment of the upgrade.
    @Suite struct CopyoverStateTests {
        private typealias T = TelnetBytes
        private let directory: TemporaryDirectory

        init() throws { directory = try TemporaryDirectory() }

        private func start(_ change: (GatewaySettings) -> GatewaySettings = { $0 }) async throws -> Edge {
            try await Edge.start(.scripted) {
                change($0.setting("CONTROL_SOCKET_PATH", directory.file("control.sock")))
            }
        }

        /// A session whose client is lost, so that it waits for nobody.
        private func detachedSession(_ edge: Edge) async throws -> (session: TypedSession, target: TargetConnection) {
            let socket = try await edge.gateway.open()
            let session = try await TypedSession.connect(socket)
            let target = try await edge.target.connection()
            await socket.connection.reset()
            try await edge.gateway.logLine("session detached")
            return (session, target)
        }

        /// Two events for the client, each of which telnet answers. A turn of a session has a budget of events, so most
        /// of what is read waits for later turns.
        private static let unit: [UInt8] = [T.iac, T.will, T.echo, T.iac, T.wont, T.echo]
        private static let answer: [UInt8] = [T.iac, T.do, T.echo, T.iac, T.dont, T.echo]
        /// Units at once. Two batches are under way, so that the gateway always has something to do.
        private static let batch = 2_500

        @Test func `bytes of the target that were read and not yet understood cross`() async throws {
            let edge = try await start()
            let (_, target) = try await detachedSession(edge)
            let isOver = Awaited(false)
            let units = Array([[UInt8]](repeating: Self.unit, count: Self.batch).joined())
            target.post(units)
            target.post(units)
            let flood = Task {
                while !isOver.current {
                    try await expectAnswers(target)
                    target.post(units)
                }
            }
            let successor = try await Successor.start(replacing: edge.gateway)
            isOver.update { $0 = true }
            try await flood.value
            #expect(successor.report.contains("1 sessions went to it"), "\(successor.report)")
            try await expectAnswers(target)
            try await expectAnswers(target)
            // Nothing is left over, and telnet is where it should be: one more question has one more answer.
            try await target.send(Self.unit)
            #expect(try await target.receive(Self.answer.count) == Self.answer)
        }

        /// One lost or repeated byte of the questions changes the answers.
        private func expectAnswers(_ target: TargetConnection) async throws {
            let answers = try await target.receive(Self.answer.count * Self.batch, within: .seconds(60))
            let expected = Array([[UInt8]](repeating: Self.answer, count: Self.batch).joined())
            try #require(answers == expected, "the target's questions have changed on the way")
        }

        @Test func `the new process counts the sessions that it has taken over`() async throws {
            let edge = try await start { $0.setting("ADMIN_BIND", "127.0.0.1:0") }
            let (session, target) = try await detachedSession(edge)
            let successor = try await Successor.start(replacing: edge.gateway)
            #expect(successor.report.contains("1 sessions went to it"), "\(successor.report)")
            #expect(try await lines(edge).contains("portcullis_sessions_open 1"))
            #expect(try await lines(edge).contains("portcullis_sessions_opened_total 1"))
            let (socket, _) = try await session.resumed(at: edge, after: 0)
            #expect(try await lines(edge).contains("portcullis_sessions_open 1"), "a client came back, and no session")
            await target.close()
            _ = try await socket.closedByServer()
            try await edge.gateway.auditLine("\"session\"", "\"ended\"", "target_closed")
            #expect(try await lines(edge).contains("portcullis_sessions_open 0"))
        }

        private func lines(_ edge: Edge) async throws -> [Substring] {
            try await edge.gateway.ask("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").text.split(separator: "\n")
        }
    }
}
