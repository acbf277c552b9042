package import Telnet

/// What a route does otherwise than the rest of the gateway. `nil`: as the gateway's own setting has it.
package struct RouteOptions: Hashable, Sendable {
    /// The target's character encoding, by a name that the gateway knows.
    package var encoding: String?
    package var tls: TargetTLSMode?
    package var proxy: TargetProxyHeader?
    package var mxp: MXPMode?
    /// Whether messages to and from the client may be compressed (permessage-deflate).
    package var compression: ClientCompression?
    /// The ways of admission that lead here; `nil`: all.
    package var admit: Set<TargetAccess>?

    package init(
        encoding: String? = nil, tls: TargetTLSMode? = nil, proxy: TargetProxyHeader? = nil, mxp: MXPMode? = nil,
        compression: ClientCompression? = nil, admit: Set<TargetAccess>? = nil
    ) {
        self.encoding = encoding
        self.tls = tls
        self.proxy = proxy
        self.mxp = mxp
        self.compression = compression
        self.admit = admit
    }

    /// Reads `name=value`.
    mutating func read(_ option: Substring, isKnownEncoding: (String) -> Bool) throws(TargetFault) {
        guard let equals = option.firstIndex(of: "=") else { throw .optionForm }
        let (name, value) = (String(option[..<equals]), String(option[option.index(after: equals)...]))
        switch name {
        case "encoding":
            try once(&encoding, isKnownEncoding(value) ? value : nil, name)
        case "tls": try once(&tls, TargetTLSMode(rawValue: value), name)
        case "proxy": try once(&proxy, TargetProxyHeader(rawValue: value), name)
        case "mxp": try once(&mxp, MXPMode(rawValue: value), name)
        case "compression": try once(&compression, ClientCompression(rawValue: value), name)
        case "admit": try once(&admit, Self.ways(value), name)
        default: throw .unknownOption(name)
        }
    }

    /// For the operator: what options there are.
    static let names = "there are encoding, tls, proxy, mxp, compression and admit"

    /// For the operator: what an option may be.
    static func values(of name: String) -> String {
        switch name {
        case "tls": list(TargetTLSMode.allCases.map(\.rawValue))
        case "proxy": list(TargetProxyHeader.allCases.map(\.rawValue))
        case "mxp": list(MXPMode.allCases.map(\.rawValue))
        case "compression": list(ClientCompression.allCases.map(\.rawValue))
        case "admit": "write any, or some of \(list(TargetAccess.allCases.map(\.rawValue))), joined by +"
        default: "see TN_ENCODING for its values"
        }
    }

    private static func list(_ values: [String]) -> String { values.joined(separator: ", ") }

    private func once<Value>(_ option: inout Value?, _ value: Value?, _ name: String) throws(TargetFault) {
        guard option == nil else { throw .repeatedOption(name) }
        guard let value else { throw .optionValue(name) }
        option = value
    }

    /// `any`, or ways with `+` between them: `app+ticket`.
    private static func ways(_ text: String) -> Set<TargetAccess>? {
        guard text != "any" else { return Set(TargetAccess.allCases) }
        let names = text.split(separator: "+", omittingEmptySubsequences: false)
        let ways = Set(names.compactMap { TargetAccess(rawValue: String($0)) })
        return ways.count == names.count ? ways : nil
    }
}

/// TLS toward a target, as `MUD_TLS_MODE`.
package enum TargetTLSMode: String, Hashable, Sendable, CaseIterable {
    case plain
    /// TLS, and plain text where the target doesn't speak it.
    case prefer
    case required
}

/// The PROXY header toward a target, as `PROXY_PROTOCOL`.
package enum TargetProxyHeader: String, Hashable, Sendable, CaseIterable {
    case off
    case v1
    case v2
}

/// Whether a route's clients may compress, as `WS_COMPRESSION`.
package enum ClientCompression: String, Hashable, Sendable, CaseIterable {
    case off, on
}

/// How a client was admitted, as far as routes tell ways apart. A client with a ticket counts as whoever got the ticket by its own
/// credentials; `ticket` are those that the operator handed out.
package enum TargetAccess: String, Hashable, Sendable, CaseIterable {
    case app
    case cert
    case ticket
    /// Nobody in particular: with `REQUIRE_APP_AUTH=false`, and in `admit=any`.
    case anonymous
}
