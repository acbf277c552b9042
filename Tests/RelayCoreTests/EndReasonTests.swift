import Foundation
import RelayCore
import Testing

/// Each end of a session has one word.
struct EndReasonTests {
    /// What the client does by itself, in the order in which ``SessionStateMachine`` is told.
    private static let ofClient: [EndReason] = [.clientClosed, .clientLost, .clientSilent, .clientProtocolError]

    /// No order ends the session: another process continues it.
    private static let ofNobody: [EndReason] = [.handedOver]

    @Test func `every reason occurs, and each cause has its own`() {
        let ordered = CloseReason.allCases.map(\.end)
        #expect(Set(ordered).count == ordered.count)
        #expect(Set(ordered).union(Self.ofClient + Self.ofNobody) == Set(EndReason.allCases))
        #expect(Set(ordered).isDisjoint(with: Self.ofClient + Self.ofNobody))
        for reason in EndReason.allCases {
            #expect(reason.rawValue.allSatisfy { $0.isLowercase || $0 == "_" }, "\(reason)")
        }
    }

    @Test func `the documentation explains every reason`() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let manual = try String(contentsOf: root.appendingPathComponent("docs/TROUBLESHOOTING.md"), encoding: .utf8)
        for reason in EndReason.allCases {
            #expect(manual.contains("\n| \(reason.rawValue) |"), "\(reason.rawValue)")
        }
    }

    @Test(arguments: CloseReason.allCases) func `an ordered close keeps its reason, attached or detached`(
        reason: CloseReason
    ) {
        for start in [Session.open(), Session.resumable(), Session.detached(), Session()] {
            var session = start
            _ = session.close(reason)
            #expect(session.machine.endReason == reason.end)
            // Its consequences aren't another cause.
            _ = session.clientClosed()
            _ = session.targetClosed(.targetLost)
            #expect(session.machine.endReason == reason.end)
        }
    }

    @Test func `a client's close, loss and error each have a reason`() {
        for reason in Self.ofClient {
            var machine = Session.open().machine
            _ = machine.clientLost(reason, now: 2_000 * second)
            #expect(machine.endReason == reason)
        }
        var closed = Session.open()
        _ = closed.clientClosed()
        #expect(closed.machine.endReason == .clientClosed)
    }

    @Test func `a silent client ends its session with that reason`() {
        var session = Session.open()
        for _ in 0..<10 where session.machine.endReason == nil {
            session.wait(session.untilDeadline ?? 0)
            _ = session.tick()
        }
        #expect(session.machine.endReason == .clientSilent)
    }

    @Test func `a detached session ends with the grace period's reason, not with the loss`() {
        var session = Session.detached()
        #expect(session.machine.endReason == nil)
        session.wait(session.untilDeadline ?? 0)
        _ = session.tick()
        #expect(session.machine.endReason == .graceOver)
    }

    @Test func `a target's end and a broken stream are attributed to the target`() {
        for (reason, end) in [
            (CloseReason?.none, EndReason.targetClosed), (.targetLost, .targetLost), (.targetBroken, .targetBroken),
            (.targetNotSecured, .targetNotSecured), (.targetTimedOut, .targetTimedOut),
        ] {
            for start in [Session.open(), Session.detached()] {
                var session = start
                _ = session.targetClosed(reason)
                #expect(session.machine.endReason == end)
            }
        }
    }
}
