import Admission
import Observability
import Reactors
import RelayCore

/// How fast a session's two sides may send.
extension Session {
    /// Counts the client's input, which is forwarded in any case: it is at most one read (a TLS record).
    /// A client that has sent too much isn't read until its allowance, and its share of its address' budget, have recovered.
    func count(bytes: Int, isMessage: Bool) {
        guard settings.traffic.limitsClient else { return }
        let now = loop.now
        meter.count(bytes: bytes, isMessage: isMessage, now: now)
        let address = isMessage ? addressShare?.spend(now: now) : nil
        guard let until = Self.later(meter.readableAt(now), address) else { return }
        deadlines.readClient = max(deadlines.readClient ?? 0, until)
        if !clientPauses.contains(.rate) { settings.metrics.throttled(.client) }
        holdClientBack(.rate, true)
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
    func pace(_ count: Int) {
        guard settings.traffic.targetBytesPerSecond > 0 else { return }
        let now = loop.now
        pacing.spend(count, now: now)
        guard let until = pacing.readableAt(now) else { return }
        if !targetPauses.contains(.rate) { settings.metrics.throttled(.target) }
        targetPauses.insert(.rate)
        deadlines.readTarget = until
    }

    func endPauses(_ now: UInt64) {
        // The address' budget may have shrunk meanwhile: then the pause continues.
        if deadlines.takeReadClient(now) { readClientInTime() }
        if deadlines.takeReadTarget(now) { targetPauses.remove(.rate) }
    }
}
