import Admission
import RelayCore
import StateCoding
import WireText

/// A session on its way to the process that replaces this one. Its target's socket goes beside it.
///
/// Rates, pauses and budgets aren't carried: they begin anew, which gives a client a second's worth of messages once
/// for each upgrade.
struct SessionState: Codable {
    struct Client: Codable {
        var session: String
        var principal: CarriedPrincipal
        var address: String
        var port: UInt16
        var isSecure: Bool
        /// Programs of before don't say: then it is.
        var isRecorded: Bool?
    }

    /// Who may have it, and by which tokens.
    var entry: CarriedSession
    var client: Client
    var target: AuthorizedTarget
    var machine: DetachedState
    var translation: Translation.State
    /// From the target, not translated yet.
    var pending: [UInt8]
    /// For the target, not written yet.
    var unsent: [UInt8]
    var counters: SessionCounters
    var dialCount: Int
    /// Nanoseconds of the machine's monotonic clock.
    var openedAt: UInt64
}

extension ClientIdentity {
    init(_ state: SessionState.Client, by carrier: PrincipalCarrier) throws {
        guard let address = IPAddress(text: state.address) else { throw CarriedStateFault() }
        self.init(
            session: state.session, principal: try carrier.restore(state.principal), address: address,
            port: state.port, isSecure: state.isSecure, isRecorded: state.isRecorded ?? true)
    }

    func state(by carrier: PrincipalCarrier) -> SessionState.Client? {
        carrier.carry(principal).map {
            SessionState.Client(
                session: session, principal: $0, address: address.text, port: port, isSecure: isSecure,
                isRecorded: isRecorded)
        }
    }
}
