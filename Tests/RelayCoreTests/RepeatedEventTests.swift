import RelayCore
import Testing

/// Events that come twice, or after everything is over, order nothing again.
struct RepeatedEventTests {
    typealias Event = @Sendable (inout Session) -> SessionActions

    private static let events: [Event] = [
        { $0.clientSent(queued: 1 << 20) }, { $0.clientSent(queued: 0) }, { $0.clientClosed() },
        { $0.clientDrained(to: 0) }, { $0.targetConnected() }, { $0.targetSent(queued: 1 << 20) },
        { $0.targetDrained(to: 0) }, { $0.targetFinished() }, { $0.targetClosed(.targetLost) }, { $0.targetClosed() },
        { $0.shutDown() }, { $0.tick() },
    ]

    @Test(arguments: Self.events.indices)
    func `a repeated event has no second effect`(index: Int) {
        for prefix in [[], [4], [4, 0], [4, 5], [4, 0, 7], [4, 10], [4, 2]] {
            var session = Session()
            for earlier in prefix { _ = Self.events[earlier](&session) }
            _ = Self.events[index](&session)
            #expect(Self.events[index](&session) == [], "after \(prefix)")
        }
    }

    @Test(arguments: Self.events.indices)
    func `after the end no action is ordered`(index: Int) {
        var session = Session.open()
        _ = session.clientClosed()
        #expect(session.targetClosed() == .end)
        session.wait(1_000 * second)
        #expect(Self.events[index](&session) == [])
        #expect(!session.machine.acceptsFromClient)
        #expect(!session.machine.acceptsFromTarget)
        #expect(session.untilDeadline == nil)
    }
}
