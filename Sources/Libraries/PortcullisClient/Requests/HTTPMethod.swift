/// The method of a request: `.get`, `.post` and so on, or any other word of capital letters.
public struct HTTPMethod: Sendable, Equatable, RawRepresentable {
    public static let get = HTTPMethod(known: "GET")
    public static let post = HTTPMethod(known: "POST")
    public static let put = HTTPMethod(known: "PUT")
    public static let patch = HTTPMethod(known: "PATCH")
    public static let delete = HTTPMethod(known: "DELETE")
    public static let head = HTTPMethod(known: "HEAD")
    public static let options = HTTPMethod(known: "OPTIONS")

    public let rawValue: String

    private init(known word: String) { rawValue = word }

    /// - Returns: nil for anything but 1 to 32 capital letters.
    public init?(rawValue: String) {
        guard (1...32).contains(rawValue.utf8.count), rawValue.utf8.allSatisfy({ (0x41...0x5A).contains($0) }) else {
            return nil
        }
        self.rawValue = rawValue
    }

    /// Whether a request may be sent again by itself (RFC 9110 section 9.2.2).
    var isIdempotent: Bool { [.get, .head, .put, .delete, .options].contains(self) }

    public static func == (one: HTTPMethod, other: HTTPMethod) -> Bool { one.rawValue.isSame(as: other.rawValue) }
}

/// Header fields that an app adds to a request.
enum AppHeaders {
    /// Set by the library or the transport.
    private static let reserved = [
        "authorization", "dpop", "host", "content-length", "transfer-encoding", "connection", "upgrade",
    ]

    static func checked(_ headers: [String: String]) throws(ConfigurationProblem) -> [(name: String, value: String)] {
        for (name, value) in headers {
            let isName =
                (1...256).contains(name.utf8.count)
                && name.utf8.allSatisfy {
                    $0.isASCIILetterOrDigit || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_")
                }
            let isValue = value.utf8.count <= 8_192 && value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }
            let isReserved =
                reserved.contains { $0.isSameIgnoringCase(as: name) }
                || name.utf8.map(\.lowercasedASCII).starts(with: "x-appattest-".utf8)
            guard isName, isValue, !isReserved else { throw .invalidHeader }
        }
        return headers.map { ($0.key, $0.value) }
    }
}
