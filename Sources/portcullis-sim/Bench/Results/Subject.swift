/// What is measured side by side.
enum Subject: String, CaseIterable, Codable, Sendable {
    case portcullis
    /// With the session layer and every limit on.
    case portcullisTyped
    /// A bare relay in C.
    case floor
    /// TLS to TCP: no WebSocket at all.
    case haproxy
    case websocat
    case websockify

    var title: String {
        switch self {
        case .portcullis: "Portcullis"
        case .portcullisTyped: "Portcullis, typed, all limits"
        case .floor: "C floor"
        case .haproxy: "HAProxy (TLS to TCP)"
        case .websocat: "websocat"
        case .websockify: "websockify (Python)"
        }
    }
}
