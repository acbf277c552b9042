import Glibc
import Testing

@testable import GatewayServer
@testable import Reactors

/// The first words between a gateway and the process that replaces it, over a real channel.
@Suite("A process that is to replace another one") struct TakeoverTests {
    private let old: HandoverChannel
    private let environment: [String: String]

    init() throws {
        let (here, there) = try #require(HandoverChannel.pair())
        old = here
        environment = [NewProcess.variable: "\(there)"]
    }

    private func begin() throws -> InheritedSockets {
        try #require(try Takeover.begin(environment)).sockets
    }

    /// What the old gateway would send next stays unread.
    @Test(arguments: [-1, 1]) func `refuses state of another form, and tells both sides`(difference: Int) throws {
        try old.send(.greeting(format: HandoverRecord.format + difference, version: "9.9.9"))
        try old.send(.prepare)
        let fault = #expect(throws: SocketFault.self) { try begin() }
        #expect(fault?.description.contains("9.9.9 has form \(HandoverRecord.format + difference)") == true)
        guard case .refused(let reason) = try old.next().record else { throw SocketFault("nothing was refused") }
        #expect(reason == fault?.description)
    }

    @Test func `takes the listening sockets, and accepts nothing yet`() throws {
        let socket = try ListeningSocket(host: "127.0.0.1", port: 0)
        let port = socket.port
        try old.send(.greeting(format: HandoverRecord.format, version: "0.1.0"))
        try old.send(.listener(.edge, ownsFile: false), sockets: [socket.descriptor])
        try old.send(.prepare)
        let sockets = try begin()
        #expect(sockets.edge.count == 1 && sockets.edge.allSatisfy { !$0.accepts })
        #expect(sockets.edgeNames == ["127.0.0.1:\(port)"])
        for listener in sockets.edge { closeSocket(listener.descriptor) }
    }

    /// The settings may have changed: a socket elsewhere isn't what the other gateways are told of.
    @Test func `serves gateways on an inherited socket only where its settings say`() throws {
        let own = try ListeningSocket(host: "127.0.0.1", port: 0)
        let other = try ListeningSocket(host: "127.0.0.2", port: 0)
        try old.send(.greeting(format: HandoverRecord.format, version: "0.1.0"))
        for descriptor in [own.descriptor, other.descriptor] {
            try old.send(.listener(.fleet, ownsFile: false), sockets: [descriptor])
        }
        try old.send(.prepare)
        let sockets = try begin()
        #expect(sockets.fleet.count == 2)
        let found = sockets.fleet(at: "127.0.0.1", own.port)
        #expect(found.map(\.descriptor) == [sockets.fleet[0].descriptor])
        #expect(InheritedListener.problem(with: sockets.fleet[1].descriptor) == "not open")
        #expect(sockets.fleet(at: "127.0.0.1", 0).count == 1)
        #expect(sockets.fleet(at: "127.0.0.1", own.port &+ 1).isEmpty)
        #expect(InheritedListener.problem(with: found[0].descriptor) == "not open")
    }

    @Test func `refuses a listener without its socket, and other words`() throws {
        try old.send(.greeting(format: HandoverRecord.format, version: "0.1.0"))
        try old.send(.listener(.edge, ownsFile: false))
        #expect(throws: SocketFault.self) { try begin() }
        let (other, there) = try #require(HandoverChannel.pair())
        try other.send(.commit)
        #expect(throws: SocketFault.self) { _ = try Takeover.begin([NewProcess.variable: "\(there)"]) }
    }

    @Test(arguments: ["x", "-1", "1048575"]) func `needs a channel`(descriptor: String) throws {
        #expect(throws: SocketFault.self) { _ = try Takeover.begin([NewProcess.variable: descriptor]) }
        let none = try Takeover.begin([:])
        #expect(none.map { _ in true } == nil)
    }
}
