import RelayCore

/// A session that the other gateways of the fleet have to find as soon as its client knows it: it may come back through
/// any of them. Until then its target's output and its client's input wait, as while the target is dialled.
extension Newcomer {
    /// The id for the client, once other gateways find the session under it; nil: they are being told, and
    /// `translationConnected` follows.
    func idToTell() -> String? {
        switch announcement {
        case .told(let id): return id
        case .underway: return nil
        case .none: return announce(as: SessionIdentity.randomID())
        }
    }

    private func announce(as id: String) -> String? {
        guard let translation, translation.value.keepsOutput, let lease, let link else { return id }
        let here = LoopBound(link, to: loop)
        let patience = settings.directory.announce(
            lease, as: id, whenFound: { here.loop.submit { here.value.newcomer?.announced() } })
        guard let patience else { return id }
        announcement = .underway(id)
        deadlines.announcement = loop.now + patience
        armTimer()
        return nil
    }

    /// Other gateways find the session, or it isn't kept waiting any longer: the store doesn't answer, or the target
    /// has ended.
    func announced() {
        guard !isOver, !isPerforming, case .underway(let id) = announcement else { return }
        announcement = .told(id)
        deadlines.announcement = nil
        translationConnected()
        current.tellEndOfTarget()
        current.perform([])
    }

    var isAnnouncing: Bool {
        if case .underway = announcement { true } else { false }
    }
}

/// How far the other gateways of the fleet know of a session.
enum SessionAnnouncement {
    case none
    case underway(String)
    case told(String)
}
