/// What is measured side by side.
enum Subject: String, CaseIterable, Codable, Sendable {
    case portcullis
    /// With the session layer and every limit on.
    case portcullisTyped
    /// Another build of the gateway, beside this one.
    case earlier
    /// A bare relay in C that queues each message.
    case floor
    /// The same relay, which writes at once.
    case floorAtOnce
    /// TLS to TCP: no WebSocket at all.
    case haproxy
    case websocat
    case websockify

    /// Without these a benchmark ends.
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
