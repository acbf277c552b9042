/// A gateway of a fleet, as its last heartbeat described it. Times are Unix milliseconds of the store's clock.
package struct GatewayMember: Hashable, Sendable {
    package enum State: Int64, Sendable {
        case serving = 0
        /// It admits nobody; its sessions go on.
        case draining = 1
        /// It closes the sessions that are left.
        case leaving = 2
    }

    /// Of each of its texts, in the store; a row with a longer one, or with other than ASCII, is no gateway's.
    package static let maximumTextBytes = 300

    /// What changes from one heartbeat to the next.
    package struct Report: Hashable, Sendable {
        package var state: State
        package var sessions: Int64
        package var connections: Int64
        /// Milliseconds since it heard the feed of the store's changes; nil: never yet.
        package var lag: Int64?
        /// Where other gateways reach it, as `host:port`; nil: nowhere.
        package var address: String?
        /// The incarnation of the store in which every session that can be resumed has its row; nil: not yet, or some
        /// are late.
        package var announced: StoreIncarnation?

        package init(
            state: State = .serving, sessions: Int64 = 0, connections: Int64 = 0, lag: Int64? = nil,
            address: String? = nil, announced: StoreIncarnation? = nil
        ) {
            self.state = state
            self.sessions = sessions
            self.connections = connections
            self.lag = lag
            self.address = address
            self.announced = announced
        }
    }

    /// Random. A process that takes over from another one has its id.
    package let id: String
    /// For the operator.
    package let name: String
    /// The program's.
    package let version: String
    /// The newest version of the schema that the program knows.
    package let schema: Int64
    package let started: Int64
    package let heartbeat: Int64
    package let report: Report

    package init(
        id: String, name: String, version: String, schema: Int64, started: Int64, heartbeat: Int64, report: Report
    ) {
        self.id = id
        self.name = name
        self.version = version
        self.schema = schema
        self.started = started
        self.heartbeat = heartbeat
        self.report = report
    }
}
