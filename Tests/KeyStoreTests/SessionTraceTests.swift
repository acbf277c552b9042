import KeyStore
import Testing

/// What is said of a session whose gateway, or whose row, isn't there.
@Suite struct SessionTraceTests {
    private typealias Trace = SessionTrace

    private static let limit = GatewayMembers.deadAfter
    private static let address = "gw1:6210"

    private func holder(_ silence: Int64?) -> Trace.Holder {
        .init(id: "a", address: silence.map { _ in Self.address }, silence: silence)
    }

    /// A gateway "a" that was silent in the last view, and perhaps lost.
    private func silent(isGone: Bool, isLost: Bool = false) -> SilentGateways {
        var silent = SilentGateways()
        let incarnations = [1, 2].map { StoreIncarnation(bytes: [UInt8](repeating: $0, count: 32)) }
        let member = GatewayMember(
            id: "a", name: "a", version: "1", schema: 7, started: 0, heartbeat: isLost ? 100_000 : 0,
            report: .init(address: Self.address))
        _ = silent.note(
            GatewayMembers([member], readAt: 100_000, began: 0, incarnation: incarnations[0]), own: "own")
        if isLost {
            _ = silent.note(
                GatewayMembers([], readAt: 101_000, began: 101_000, incarnation: incarnations[1]), own: "own")
        }
        if isGone { for _ in 0..<SilentGateways.failuresUntilGone { _ = silent.nobodyAnswered(at: "a") } }
        return silent
    }

    private func verdict(
        _ holder: Trace.Holder?, lived: Int64 = .max, doubtful: [String] = [], _ silent: SilentGateways
    )
        -> Trace.Verdict
    {
        Trace(holder: holder, lived: lived, doubtful: doubtful).verdict(silent)
    }

    private func isUndecided(_ verdict: Trace.Verdict) -> Bool {
        if case .undecided = verdict { true } else { false }
    }

    @Test func `a session is where its row says, unless its gateway is silent and gone`() {
        let here = Trace.Verdict.at(gateway: "a", address: Self.address)
        #expect(verdict(holder(0), SilentGateways()) == here)
        #expect(verdict(holder(Self.limit + 1), SilentGateways()) == here)
        #expect(verdict(holder(Self.limit + 1), silent(isGone: false)) == here)
        #expect(verdict(holder(Self.limit + 1), silent(isGone: true)) == .gone)
        // It is back.
        #expect(verdict(holder(Self.limit), silent(isGone: true)) == here)
    }

    @Test func `a gateway without a row is asked where it was, until it is gone`() {
        #expect(
            verdict(holder(nil), silent(isGone: false, isLost: true)) == .at(gateway: "a", address: Self.address))
        #expect(verdict(holder(nil), silent(isGone: true, isLost: true)) == .gone)
        #expect(verdict(holder(nil), SilentGateways()) == .gone)
        #expect(isUndecided(verdict(holder(nil), lived: Self.limit, SilentGateways())))
    }

    @Test func `a missing row means nothing before every gateway could come back`() {
        #expect(isUndecided(verdict(nil, lived: Self.limit, SilentGateways())))
        #expect(verdict(nil, lived: Self.limit + 1, SilentGateways()) == .gone)
    }

    @Test func `a missing row means nothing while a gateway is in doubt that isn't gone`() {
        #expect(isUndecided(verdict(nil, doubtful: ["a"], SilentGateways())))
        #expect(isUndecided(verdict(nil, doubtful: ["a"], silent(isGone: false))))
        #expect(verdict(nil, doubtful: ["a"], silent(isGone: true)) == .gone)
        #expect(isUndecided(verdict(nil, doubtful: ["a", "b"], silent(isGone: true))))
    }

    @Test func `a missing row means nothing while a gateway isn't back that the store has lost`() {
        #expect(isUndecided(verdict(nil, silent(isGone: false, isLost: true))))
        #expect(verdict(nil, silent(isGone: true, isLost: true)) == .gone)
        // Its rows are there: it has only lost its database.
        #expect(verdict(nil, silent(isGone: false)) == .gone)
    }
}
