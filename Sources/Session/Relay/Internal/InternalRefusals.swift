import Observability
import Reactors
import Synchronization

/// Decides which refused connections of the internal listener get a line in the log. Strangers can cause any number of
/// refusals, so there is a line in `intervalSeconds` at most; it tells how many others there were. Shared by all
/// reactors.
final class InternalRefusals: Sendable {
    static let intervalSeconds = 10

    private let state = Mutex((next: UInt64(0), suppressed: 0))

    /// - Parameter now: monotonic nanoseconds.
    /// - Returns: the number of refusals without a line since the last one; nil: this one gets none.
    func note(at now: UInt64) -> Int? {
        state.withLock { state in
            guard now >= state.next else {
                state.suppressed += 1
                return nil
            }
            defer { state = (now + UInt64(Self.intervalSeconds) * 1_000_000_000, 0) }
            return state.suppressed
        }
    }
}

extension InternalConnectionRefusal {
    init(_ refusal: InternalRefusal) {
        self =
            switch refusal {
            case .total: .total
            case .perAddress: .perAddress
            case .handshakeRate: .handshakeRate
            case .handshakeFailed: .handshakeFailed
            case .handshakeTimedOut: .handshakeTimedOut
            case .noCertificate: .noCertificate
            }
    }
}
