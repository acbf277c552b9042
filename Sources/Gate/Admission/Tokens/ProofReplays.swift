package import DPoP
import FoundationEssentials
import Synchronization

/// The replay stores of a gateway. Each endpoint has its own, so proofs that are sent to one can't fill the store of
/// another.
package final class ProofReplays: Sendable {
    /// `POST /attest/register`
    package let registration: MemoryReplayStore
    /// `POST /token`
    package let token: MemoryReplayStore
    /// Requests with an access token.
    package let resource: MemoryReplayStore
    /// Changes once at most, before the first proof: when that of an earlier process is taken over.
    private let life: Mutex<GatewayLife>

    /// - Parameters:
    ///   - maximum: of each store.
    ///   - moment: the start of a process that follows another one; nil: there was none, or the store of a fleet knows
    ///     what it has accepted.
    package init(maximum: Int = MemoryReplayStore.defaultMaximum, followingAt moment: Moment? = nil) {
        func store() -> MemoryReplayStore { MemoryReplayStore(maximum: maximum) }
        (registration, token, resource) = (store(), store(), store())
        life = Mutex(GatewayLife(followingAt: moment))
    }

    /// The life of the stores of a gateway that is alone, by the wall clock of a moment.
    func life(at moment: Moment) -> ReplayLife { life.withLock { $0 }.replayLife(at: moment) }

    // MARK: To another process

    package var carriedLife: GatewayLife { life.withLock { $0 } }

    /// Goes on with the life of the process before, whose used proofs the stores take over.
    package func restore(_ carried: GatewayLife) throws {
        guard carried.isValid else { throw CarriedStateFault() }
        life.withLock { $0 = carried }
    }
}

/// The life of the replay stores of a gateway that is alone. It begins with a process that takes nothing over, and goes
/// on in those that take its proofs over.
package struct GatewayLife: Codable, Sendable {
    private struct Beginning: Codable {
        let unixMilliseconds: Int64
        let monotonic: MonotonicTime
    }

    private let id: [UInt8]
    private let beginning: Beginning?

    fileprivate init(followingAt moment: Moment?) {
        id = ReplayLife(began: nil).id
        beginning = moment.map { Beginning(unixMilliseconds: $0.unixMilliseconds, monotonic: $0.monotonic) }
    }

    fileprivate var isValid: Bool { ReplayLife.idLengths.contains(id.count) }

    /// By the wall clock of a moment. If that was set forward meanwhile, the process before may have had the later time
    /// already: then the life began as long ago as the monotonic clock says.
    fileprivate func replayLife(at moment: Moment) -> ReplayLife {
        let began = beginning.map { beginning in
            let age = Int64(clamping: moment.monotonic.milliseconds(since: beginning.monotonic))
            return Date(unixMilliseconds: max(beginning.unixMilliseconds, moment.unixMilliseconds - age))
        }
        guard let life = ReplayLife(id: id, began: began) else { preconditionFailure("The identifier was checked.") }
        return life
    }
}

extension TokenSettings {
    /// The life of the replay stores, by the wall clock of a moment.
    func life(at moment: Moment) -> ReplayLife { store.life(of: replays, at: moment) }

    /// The server's nonces in that life.
    func serverNonces(at moment: Moment) -> ServerNonces { keys.nonces(of: life(at: moment)) }
}
