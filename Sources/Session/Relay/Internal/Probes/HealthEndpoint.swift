import Reactors
import WireText

/// `/health` on the internal listener: the answer that clients get.
struct HealthEndpoint: InternalEndpoint {
    let settings: RelaySettings

    func handle(_ exchange: InternalExchange) -> Bool {
        guard exchange.path.hasSameBytes(as: "/health") else { return false }
        exchange.respond(HealthAnswer.make(settings, at: exchange.reactor))
        return true
    }
}
