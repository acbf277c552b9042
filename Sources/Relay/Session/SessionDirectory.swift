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
    func open(_ place: Register.Place, as id: String, _ token: SessionToken, heldBy holder: Pinned<SessionDriver>) {
        _ = register.withLock { $0.open(place, id: id, token: token, holder: holder) }
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

    /// Who holds the session of a claim by now; nil where it has ended.
    func holder(of claim: SessionToken, id: String) -> (holder: Pinned<SessionDriver>, isNewest: Bool)? {
        register.withLock { $0.holder(of: claim, id: id) }
    }

    /// The session has a new driver.
    func moved(_ place: Register.Place, to holder: Pinned<SessionDriver>) {
        register.withLock { $0.moved(place, to: holder) }
    }

    /// The session is on its way to a driver of another reactor, where `arrive` takes it: whoever finds that driver here asks it for the
    /// session behind that.
    func moved(
        _ place: Register.Place, to holder: Pinned<SessionDriver>, arriving arrive: @escaping @Sendable () -> Void
    ) {
        register.withLock {
            $0.moved(place, to: holder)
            holder.reactor.submit(arrive)
        }
    }

    /// Whether this client may be about to come back for a session.
    func isAwaited(_ client: ClientIdentity) -> Bool {
        register.withLock { $0.hasSession(client.owner, from: client.address) }
    }
}

extension ClientIdentity {
    fileprivate var owner: SessionOwner { SessionOwner(principal) }
}
