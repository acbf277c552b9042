import Admission
import Observability
import Reactors
import RelayCore

/// How fast a session's two sides may send.
extension SessionStage {
    /// Counts a message or a control frame toward the session's messages and its address'.
    func countMessage() {
        guard settings.traffic.limitsClient else { return }
        let now = loop.now
        meter.countMessage(now: now)
        slowClient(until: Self.later(meter.readableAt(now), addressShare?.spend(now: now)))
    }

    /// Counts what the client has made the gateway read. It goes on in any case: at most one read of its socket,
    /// and one that waits for its turn.
    func count(octets: Int, steps: Int) {
        guard settings.traffic.clientBytesPerSecond > 0 else { return }
        let now = loop.now
        meter.count(octets: octets, steps: steps, now: now)
        slowClient(until: meter.readableAt(now))
    }

    /// A client that has sent too much isn't read until its allowance, and its share of its address' budget, have
    /// recovered.
    private func slowClient(until: UInt64?) {
        guard let until else { return }
        deadlines.readClient = max(deadlines.readClient ?? 0, until)
        if !clientPauses.contains(.rate) { settings.metrics.throttled(.client) }
        holdClientBack(.rate, true)
        armTimer()
    }

    private static func later(_ first: UInt64?, _ second: UInt64?) -> UInt64? {
        guard let first, let second else { return first ?? second }
        return max(first, second)
    }

    /// Begins or ends one of the pauses that the state machine doesn't order.
    func holdClientBack(_ reason: ReadingPauses, _ isHeldBack: Bool) {
        guard clientPauses.contains(reason) != isHeldBack else { return }
        if isHeldBack { clientPauses.insert(reason) } else { clientPauses.remove(reason) }
        machine.clientHeldBack(!clientPauses.subtracting(.queue).isEmpty, now: loop.now)
    }

    /// The client isn't read until its allowance has recovered.
    func readClientInTime() {
        let now = loop.now
        deadlines.readClient = Self.later(meter.readableAt(now), addressShare?.readableAt(now))
        holdClientBack(.rate, deadlines.readClient != nil)
    }

    /// A target that has sent too much isn't read for a while.
    ///
    /// - Parameter steps: what its output has taken: see `PacingBucket.targetStepBytes`.
    func pace(_ octets: Int, steps: Int) {
        guard settings.traffic.targetBytesPerSecond > 0, machine.acceptsFromTarget else { return }
        let now = loop.now
        pacing.spend(octets + steps * PacingBucket.targetStepBytes, now: now)
        guard let until = pacing.readableAt(now) else { return }
        if !targetPauses.contains(.rate) { settings.metrics.throttled(.target) }
        targetPauses.insert(.rate)
        deadlines.readTarget = until
        armTimer()
    }

    func endPauses(_ now: UInt64) {
        // The address' budget may have shrunk meanwhile: then the pause continues.
        if deadlines.takeReadClient(now) { readClientInTime() }
        if deadlines.takeReadTarget(now) { targetPauses.remove(.rate) }
    }
}
