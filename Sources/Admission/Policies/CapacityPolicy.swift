import KeyStore

/// Refuses while all sessions are taken, before anything of the client's is spent. The place itself is claimed at the very end.
///
/// Who says that he is somebody who has a session may be coming back for it, and is let through to the reserve; that he is who he says is
/// checked before he gets a place.
struct CapacityPolicy: AdmissionPolicy {
    /// Seconds.
    static let retryAfter = 5

    let slots: SessionSlots
    let mayComeBack: @Sendable (SessionOwner, ClientAddress) -> Bool
    let bearer: @Sendable (SessionCredential, MonotonicTime) -> Principal?

    func evaluate(_ request: AdmissionRequest) -> PolicyOutcome {
        guard slots.isFull else { return .noOpinion }
        if !slots.isFullForReturning, mayComeBack(request) { return .noOpinion }
        return .refused(.atCapacity, "at MAX_SESSIONS_GLOBAL", retryAfter: Self.retryAfter)
    }

    private func mayComeBack(_ request: AdmissionRequest) -> Bool {
        if let session = request.bareSession, bearer(session, request.moment.monotonic) != nil { return true }
        return mayComeBack(request.claimedOwner, request.address)
    }
}

extension AdmissionRequest {
    /// Whose sessions the client would have if it is who it says. Nothing of it is verified.
    fileprivate var claimedOwner: SessionOwner {
        if let key = assertion.keyID.flatMap(KeyID.init(text:)) { return .key(key) }
        return certificate.map { .certificate(sha256: $0.sha256) } ?? .anonymous
    }
}
