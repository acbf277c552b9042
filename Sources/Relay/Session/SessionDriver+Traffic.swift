import Admission
import Reactors
import RelayCore

/// How fast a session's two sides may talk.
extension SessionDriver {
    /// Counts a piece of a client's message, which goes on in any case: what has arrived is at most what one read has brought (a TLS record).
    /// A client that has sent too much isn't read until that is paid for, or until its share of its address' budget is.
    func count(_ piece: MessagePiece) {
        guard settings.traffic.limitsClient else { return }
        let now = reactor.now
        meter.count(bytes: piece.bytes.count, isMessage: piece.isFirst, now: now)
        let address = piece.isFirst ? addressShare?.spend(now: now) : nil
        guard let until = Self.later(meter.readableAt(now), address) else { return }
        deadlines.readClient = max(deadlines.readClient ?? 0, until)
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
        tellMachineOfPauses()
    }

    func tellMachineOfPauses() {
        machine.clientHeldBack(!clientPauses.subtracting(.queue).isEmpty, now: reactor.now)
    }

    /// A target that has sent too much isn't read for a while.
    func pace(_ count: Int) {
        guard settings.traffic.targetBytesPerSecond > 0 else { return }
        let now = reactor.now
        pacing.spend(count, now: now)
        guard let until = pacing.readableAt(now) else { return }
        targetPauses.insert(.rate)
        deadlines.readTarget = until
    }

    func takePauses(_ now: UInt64) {
        if deadlines.takeReadClient(now) {
            // Of an address' budget there may be less now than there was to be.
            deadlines.readClient = Self.later(meter.readableAt(now), addressShare?.readableAt(now))
            if deadlines.readClient == nil { holdClientBack(.rate, false) }
        }
        if deadlines.takeReadTarget(now) { targetPauses.remove(.rate) }
    }
}

/// Why one side of a session isn't read just now.
struct ReadingPauses: OptionSet {
    let rawValue: UInt8

    /// The other side's queue is above its mark.
    static let queue = ReadingPauses(rawValue: 1)
    /// It has sent too much in too short a time.
    static let rate = ReadingPauses(rawValue: 2)
    /// The session that the client resumes is on its way.
    static let resuming = ReadingPauses(rawValue: 4)
    /// Much of what the client has said waits for a target that is being dialled.
    static let dialing = ReadingPauses(rawValue: 8)
}
