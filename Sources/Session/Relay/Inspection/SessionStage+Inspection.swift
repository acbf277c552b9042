import Admission
import RelayCore
import WireText

/// What operators see of a session, and how they end it.
extension SessionStage {
    /// See `SessionSummary.route`.
    var routeName: String {
        guard let lastTarget else { return "-" }
        return lastTarget.route ?? (lastTarget.isClientsChoice ? targetName ?? "-" : "default")
    }

    private var targetName: String? { lastTarget.map { "\($0.host.text):\($0.port)" } }

    var heardAt: UInt64 { max(openedAt, counters.inputAt) }

    func rank(_ order: SessionQuery.Order) -> SessionRank {
        let value: UInt64 =
            switch order {
            case .age: openedAt
            case .bytes: UInt64.max - UInt64(clamping: counters.bytesFromClient + counters.bytesToClient)
            case .idle: heardAt
            }
        return SessionRank(value: value, id: client.session)
    }

    func isMeant(by matcher: SessionMatcher) -> Bool {
        matcher.matches(route: routeName, client.principal.identity, client.address)
    }

    var summary: SessionSummary {
        let identity = client.principal.identity
        return SessionSummary(
            id: client.session, age: Self.milliseconds(since: openedAt, loop.now),
            idle: Self.milliseconds(since: heardAt, loop.now), dialect: dialectLabel.rawValue, route: routeName,
            method: identity.method.label, subject: identity.subject.map(Self.cut), address: client.address.text,
            isAttached: link != nil, bytesFromClient: counters.bytesFromClient, bytesToClient: counters.bytesToClient)
    }

    /// Frames are counted now and then, and here.
    var detail: SessionDetail {
        link?.noteFrames()
        let end = machine.isDetached ? machine.nextDeadline : nil
        return SessionDetail(
            summary: summary, target: targetName, targetTLS: leg?.tlsVersion, isSecure: client.isSecure,
            shown: client.principal.shown.label, isCompressed: link?.isCompressed ?? false,
            encoding: translation?.value.encodingName, isResumable: machine.isResumable,
            endsWithoutClientIn: end.map { Self.milliseconds(since: min(loop.now, $0), $0) },
            isEnding: !machine.isUnderway, clientPauses: clientPauses.names, targetPauses: targetPauses.names,
            queuedToClient: link?.queuedBytes ?? 0, queuedToTarget: leg?.queuedBytes ?? 0,
            pendingFromTarget: pending.count, dials: dialCount, frameBytesFromClient: counters.frameBytesFromClient,
            frameBytesToClient: counters.frameBytesToClient)
    }

    /// - Parameter detail: who closes it and why, for the audit log.
    /// - Returns: false if it is ending already.
    func closeForOperator(_ detail: String) -> Bool {
        guard machine.isUnderway else { return false }
        settings.record.closedByOperator(client, detail, at: loop.moment)
        close(.closedByOperator)
        return true
    }

    private static func milliseconds(since start: UInt64, _ now: UInt64) -> UInt64 {
        now > start ? (now - start) / 1_000_000 : 0
    }

    /// At a character's boundary.
    private static func cut(_ subject: String) -> String {
        guard subject.utf8.count > SessionSummary.maximumSubjectBytes else { return subject }
        var (text, bytes) = ("", 0)
        for scalar in subject.unicodeScalars {
            bytes += UTF8.width(scalar)
            guard bytes <= SessionSummary.maximumSubjectBytes else { break }
            text.unicodeScalars.append(scalar)
        }
        return text
    }
}

extension ReadingPauses {
    fileprivate var names: [String] {
        let all: [(ReadingPauses, String)] = [
            (.queue, "queue"), (.rate, "rate"), (.resuming, "resuming"), (.dialing, "dialing"), (.turn, "turn"),
        ]
        return all.filter { contains($0.0) }.map(\.1)
    }
}
