/// The servers that are compared.
enum Subject: String, CaseIterable, Codable, Sendable {
    case portcullis
    /// The gateway with the session layer and all limits on.
    case portcullisTyped
    /// Another build of the gateway, for comparison.
    case earlier
    /// A bare relay in C that queues each message.
    case floor
    /// The same relay, but it writes at once.
    case floorAtOnce
    /// TLS to TCP, without WebSocket.
    case haproxy
    case websocat
    case websockify

    /// The benchmark fails without these.
    static let required: Set<Subject> = [.portcullis, .portcullisTyped, .earlier, .floor, .floorAtOnce]

    var title: String {
        switch self {
        case .portcullis: "Portcullis"
        case .portcullisTyped: "Portcullis, typed, all limits"
        case .earlier: "Portcullis, the other build"
        case .floor: "C floor"
        case .floorAtOnce: "C floor, writing at once"
        case .haproxy: "HAProxy (TLS to TCP)"
        case .websocat: "websocat"
        case .websockify: "websockify (Python)"
        }
    }
}
