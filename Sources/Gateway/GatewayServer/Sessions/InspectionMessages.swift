package import Relay

/// What tools ask the running gateway about its sessions, in a `ControlRequest`.
package enum InspectionRequest: Codable, Sendable, Equatable {
    case sessions(SessionQuery)
    case session(id: String)
    case close(SessionSelection, reason: String)
    case figures
}

/// The answer, in a `ControlAnswer`.
package enum InspectionAnswer: Codable, Sendable, Equatable {
    case sessions(SessionPage)
    case session(SessionDetail?)
    case closed(Int)
    case figures(GatewayFigures)
}
