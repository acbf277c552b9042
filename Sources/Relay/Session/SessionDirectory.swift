package import Admission
import Reactors
import RelayCore
import Synchronization

/// All sessions of the gateway, whichever reactor they are on: who has how many, and where the one is that a client asks to resume.
///
/// It never calls a driver: what concerns another reactor is handed there as a job.
package final class SessionDirectory: Sendable {
    typealias Register = SessionRegister<Pinned<SessionDriver>>

    /// {register} Each driver is used on its reactor's thread alone.
    private let register: Mutex<Register>

    package init(_ limits: SessionPlaceLimits) {
        register = Mutex(SessionRegister(limits: limits))
    }

    /// For a reload: nobody who is in is put out.
    package func setLimits(_ limits: SessionPlaceLimits) {
        register.withLock { $0.limits = limits }
    }

    // MARK: Places

    /// Takes a place before a target is dialled. Where the identity has too many, its oldest session without a client ends for it.
    func reserve(for client: ClientIdentity) -> SessionReservation<Pinned<SessionDriver>> {
        let outcome = register.withLock { $0.reserve(for: client.owner, from: client.address) }
        if case .reservedInPlaceOf(_, let evicted) = outcome {
            evicted.reactor.submit { evicted.value.close(.sessionEvicted) }
        }
        return outcome
    }

    func release(_ place: Register.Place) {
        register.withLock { $0.release(place) }
    }

    // MARK: Resuming

    /// From here on the session can be resumed, by whoever is its owner and knows its token.
    func open(
        _ place: Register.Place, as id: String, _ token: SessionToken, of client: ClientIdentity,
        heldBy holder: Pinned<SessionDriver>
    ) {
        _ = register.withLock { $0.open(place, id: id, token: token, of: client.principal, holder: holder) }
    }

    /// The client has shown that the newest token has reached it.
    func tokenConfirmed(_ place: Register.Place, at now: UInt64) {
        register.withLock { $0.tokenConfirmed(place, at: MonotonicTime(nanoseconds: now)) }
    }

    /// The client that may come back to a session with its token alone.
    package func bearer(of credential: SessionCredential, at time: MonotonicTime) -> Principal? {
        register.withLock { $0.bearer(of: credential, at: time) }
    }

    func detached(_ place: Register.Place, at now: UInt64) {
        register.withLock { $0.detached(place, at: MonotonicTime(nanoseconds: now)) }
    }

    /// - Returns: where the session is, and its new token.
    func claim(
        _ request: ResumeRequest, by client: ClientIdentity, at now: UInt64
    ) -> SessionClaim<Pinned<SessionDriver>> {
        var generator = SystemRandomNumberGenerator()
        return register.withLock {
            $0.claim(
                id: request.sessionID, token: request.token, owner: client.owner,
                at: MonotonicTime(nanoseconds: now), using: &generator)
        }
    }

    /// The session that was claimed has a new driver.
    ///
    /// - Parameter detachedAt: nil: and a client.
    /// - Returns: false where it has lost its place on the way.
    func arrived(_ place: Register.Place, at holder: Pinned<SessionDriver>, detachedAt: UInt64?) -> Bool {
        register.withLock {
            $0.arrived(place, at: holder, detachedAt: detachedAt.map(MonotonicTime.init(nanoseconds:)))
        }
    }

    /// It couldn't be had.
    func claimFailed(_ place: Register.Place) {
        register.withLock { $0.claimFailed(place) }
    }

    /// Whether this client may be about to come back for a session.
    func isAwaited(_ client: ClientIdentity) -> Bool {
        mayComeBack(client.owner, client.address)
    }

    /// The same for a client that isn't admitted yet.
    package func mayComeBack(_ owner: Identity, _ address: ClientAddress) -> Bool {
        register.withLock { $0.hasSession(owner, from: address) }
    }
}

extension ClientIdentity {
    fileprivate var owner: Identity { principal.identity }
}
