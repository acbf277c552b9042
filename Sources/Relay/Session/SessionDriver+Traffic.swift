import Admission
import Reactors
import RelayCore

/// How fast a session's two sides may talk.
extension SessionDriver {
    /// Counts a piece of a client's message. What is too much comes to nothing where the dialect has a place to say so; where it hasn't,
    /// nothing is dropped, and the client isn't read for a while.
    ///
    /// - Returns: whether the piece goes on.
    func admits(_ piece: MessagePiece) -> Bool {
        guard settings.traffic.limitsClient else { return true }
        let now = reactor.now
        if piece.isFirst { isDropping = false }
        guard hasNotices, piece.isFirst || isDropping else {
            count(piece, now)
            return true
        }
        if piece.isFirst {
            // What its own limit drops isn't counted against the neighbours.
            var verdict = meter.admit(bytes: piece.bytes.count, now: now)
            if case .pass = verdict, isAddressOver(now) { verdict = meter.refuse(now: now) }
            guard case .over(let notice) = verdict else { return true }
            isDropping = true
            if notice, clientHasRoom { translate { $0.sendRateLimited(into: &$1) } }
        }
        translate { translation, _ in translation.drop(isLast: piece.isLast) }
        return false
    }

    private var hasNotices: Bool {
        if case .translated(let translation) = speech { translation.value.hasNotices } else { false }
    }

    private func count(_ piece: MessagePiece, _ now: UInt64) {
        var until = meter.count(bytes: piece.bytes.count, isMessage: piece.isFirst, now: now)
        if until == nil, piece.isFirst, isAddressOver(now) { until = now + Self.addressPause }
        guard let until else { return }
        clientPauses.insert(.rate)
        deadlines.readClient = until
    }

    /// As long as a window of the address' limit.
    private static var addressPause: UInt64 { 1_000_000_000 }

    private func isAddressOver(_ now: UInt64) -> Bool {
        guard let table = settings.traffic.perAddress else { return false }
        return table.count(client.address.prefix, at: MonotonicTime(nanoseconds: now)) != .within
    }

    /// A target that has sent too much isn't read for a while.
    func pace(_ count: Int) {
        guard settings.traffic.targetBytesPerSecond > 0 else { return }
        let now = reactor.now
        pacing.spent(count, now: now)
        guard let until = pacing.readableAt(now) else { return }
        targetPauses.insert(.rate)
        deadlines.readTarget = until
    }

    func takePauses(_ now: UInt64) {
        if deadlines.takeReadClient(now) { clientPauses.remove(.rate) }
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
}
