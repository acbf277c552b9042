/// Finds the gateway of a fleet that has a session. Safe from any thread.
package protocol SessionWhereabouts: Sendable {
    /// - Parameters:
    ///   - sessionID: as the client has sent it.
    ///   - answer: called once, on any thread, within a few seconds.
    func find(_ sessionID: String, answer: @escaping @Sendable (Whereabouts) -> Void)
}

package enum Whereabouts: Sendable, Hashable {
    /// No gateway has it, or the one that had it is dead, and the session with it.
    case unknown
    case elsewhere(FleetPeer)
    /// Nobody knows at the moment.
    ///
    /// - Parameter retryAfter: seconds.
    case unavailable(detail: String, retryAfter: Int)
}

/// Another gateway of the fleet.
package struct FleetPeer: Sendable, Hashable {
    /// Of its row among the fleet's gateways.
    package let id: String
    /// What its `FLEET_BIND` advertises: its certificate has this name or address.
    package let host: String
    package let port: UInt16

    package init(id: String, host: String, port: UInt16) {
        self.id = id
        self.host = host
        self.port = port
    }
}

/// Is told which sessions can be resumed at this gateway. Called on reactors: it must not wait.
package protocol SessionAnnouncer: Sendable {
    /// A client is told of its session after so long at the latest, whether other gateways find it or not.
    var toldAfterMilliseconds: Int64 { get }

    /// Also called for a session that was announced before.
    ///
    /// - Parameter whenFound: called on any thread once other gateways find the session; never if it ends before.
    func began(_ sessionID: String, whenFound: (@Sendable () -> Void)?)
    func ended(_ sessionID: String)
    /// Another process announces the sessions from now on: what hasn't been told isn't told any more.
    func stop()
}
