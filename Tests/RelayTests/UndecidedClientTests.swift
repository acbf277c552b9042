import Admission
import RelayCore
import Testing
import WireText

@testable import Relay

/// A client that has its 101 and hasn't said anything yet: its dialect isn't known, and it may be going to resume a
/// session.
struct UndecidedClientTests {
    private let bench: Bench

    init() throws { bench = try Bench() }

    private func undecided(from address: String = "192.0.2.1") throws -> TestClient {
        let client = try bench.client(nil, from: address)
        bench.network.settle()
        return client
    }

    private func expectClosed(_ client: TestClient, _ reason: CloseReason) {
        bench.network.settle()
        #expect(client.closeCode == reason.code && client.closeReason == reason.text)
        client.socket.lose()
        bench.network.wait(20 * second)
        #expect(bench.isEmpty)
    }

    @Test func `holds its lease, and counts among the gateway's sessions`() throws {
        let client = try undecided()
        #expect(bench.leases.count == 1 && bench.sessionCount == 1)
        client.socket.lose()
        bench.network.wait(20 * second)
        #expect(bench.isEmpty)
    }

    /// The MUD speaks first, so it was dialled.
    @Test func `counts among the sessions of its address`() throws {
        let bench = try Bench { $0.leases = SessionLeaseLimits(perDevice: 100, perAddress: 1) }
        let first = try bench.client(nil)
        bench.network.settle()
        var second = try bench.client(.raw)
        bench.network.settle()
        second.hear()
        #expect(first.closeCode == nil && second.closeCode == CloseReason.tooManySessions.code)
    }

    @Test func `gets the MUD's output when its time is over`() throws {
        let client = try undecided()
        bench.target.send("Welcome")
        bench.network.wait(DialectChooser.defaultWait - millisecond)
        #expect(client.socket.messages.isEmpty)
        bench.network.wait(5 * millisecond)
        #expect(client.socket.messages.map(\.text).joined() == "Welcome")
    }

    @Test func `is closed when it is revoked or blocked, and no other one`() throws {
        let client = try undecided()
        bench.onEachTable { $0.close(.deviceBlocked) { _, address in address.text == "198.51.100.7" } }
        #expect(client.closeCode == nil)
        var count = 0
        bench.onEachTable { count += $0.close(.deviceBlocked) { _, address in address.text == "192.0.2.1" } }
        #expect(count == 1)
        expectClosed(client, .deviceBlocked)
    }

    @Test func `is closed when its credential expires`() throws {
        let client = try undecided()
        bench.onEachTable { $0.close(.sessionExpired) { principal, _ in principal.identity == .anonymous } }
        expectClosed(client, .sessionExpired)
    }

    @Test func `is closed at the end of a drain, and at once if it comes during one`() throws {
        let client = try undecided()
        bench.drain.beginDraining()
        bench.onEachTable { $0.beginDraining() }
        let late = try undecided(from: "198.51.100.7")
        #expect(late.closeCode == CloseReason.shuttingDown.code && client.closeCode == nil)
        late.socket.lose()
        bench.onEachTable { $0.close(.shuttingDown) }
        expectClosed(client, .shuttingDown)
    }

    /// What the MUD has said is for the client, whatever its dialect.
    @Test func `gets what the MUD has said before it is closed`() throws {
        let client = try undecided()
        bench.target.send("Welcome")
        bench.network.settle()
        bench.onEachTable { $0.close(.shuttingDown) }
        bench.network.settle()
        #expect(client.socket.messages.map(\.text).joined() == "Welcome")
        expectClosed(client, .shuttingDown)
    }

    @Test func `is dropped if it is silent, as every client`() throws {
        let client = try undecided()
        client.socket.vanish()
        bench.network.wait(10 * 60 * second)
        #expect(client.socket.isClosed)
        #expect(bench.isEmpty)
    }

    /// It may resume a session in a moment, or begin one that can go.
    @Test func `is waited for by a process that another one replaces`() throws {
        _ = try undecided()
        let standings = bench.network.run(on: bench.loops[0]) {
            bench.tables[0].all.map { $0.prepareToMove(by: bench.tables[0].gate.carrier) }
        }
        #expect(standings == [.undecided])
    }
}
