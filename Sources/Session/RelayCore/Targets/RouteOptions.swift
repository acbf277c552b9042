package import Telnet
import WireText

/// The settings that a route overrides. `nil`: the gateway's own setting applies.
package struct RouteOptions: Codable, Hashable, Sendable {
    /// The target's character encoding, by a name that the gateway knows.
    package var encoding: String?
    package var tls: TargetTLSMode?
    package var proxy: TargetProxyHeader?
    package var mxp: MXPMode?
    /// Whether the target may compress its output (MCCP2).
    package var mccp: MCCPMode?
    /// Whether messages to and from the client may be compressed (permessage-deflate).
    package var compression: ClientCompression?
    /// The admission methods that give access to this route; `nil`: all.
    package var admit: RouteAdmission?

    package init(
        encoding: String? = nil, tls: TargetTLSMode? = nil, proxy: TargetProxyHeader? = nil, mxp: MXPMode? = nil,
        mccp: MCCPMode? = nil, compression: ClientCompression? = nil, admit: RouteAdmission? = nil
    ) {
        self.encoding = encoding
        self.tls = tls
        self.proxy = proxy
        self.mxp = mxp
        self.mccp = mccp
        self.compression = compression
        self.admit = admit
    }

    /// Reads `name=value`.
    mutating func read(
        _ option: Substring, methods: [String], isKnownEncoding: (String) -> Bool
    ) throws(TargetFault) {
        guard let equals = option.utf8.firstIndex(of: UInt8(ascii: "=")) else { throw .optionForm }
        let (name, value) = (String(option[..<equals]), String(option[option.utf8.index(after: equals)...]))
        switch WireWord(name) {
        case "encoding":
            try once(&encoding, isKnownEncoding(value) ? value : nil, name)
        case "tls": try once(&tls, TargetTLSMode(word: value), name)
        case "proxy": try once(&proxy, TargetProxyHeader(word: value), name)
        case "mxp": try once(&mxp, MXPMode(word: value), name)
        case "mccp": try once(&mccp, MCCPMode(word: value), name)
        case "compression": try once(&compression, ClientCompression(word: value), name)
        case "admit":
            guard admit == nil else { throw .repeatedOption(name) }
            guard let read = RouteAdmission(value, methods: methods) else { throw .admitValue(methods) }
            admit = read
        default: throw .unknownOption(name)
        }
    }

    /// For error messages to the operator: the available options.
    static let names = "there are encoding, tls, proxy, mxp, mccp, compression and admit"

    /// For error messages to the operator: the values of an option.
    static func values(of name: String) -> String {
        switch WireWord(name) {
        case "tls": list(TargetTLSMode.allCases.map(\.rawValue))
        case "proxy": list(TargetProxyHeader.allCases.map(\.rawValue))
        case "mxp": list(MXPMode.allCases.map(\.rawValue))
        case "mccp": list(MCCPMode.allCases.map(\.rawValue))
        case "compression": list(ClientCompression.allCases.map(\.rawValue))
        default: "see TARGET_ENCODING for its values"
        }
    }

    private static func list(_ values: [String]) -> String { values.joined(separator: ", ") }

    private func once<Value>(_ option: inout Value?, _ value: Value?, _ name: String) throws(TargetFault) {
        guard option == nil else { throw .repeatedOption(name) }
        guard let value else { throw .optionValue(name) }
        option = value
    }
}

/// The admission methods that give access to a route, by name: `any`, or some joined by `+`, such as `app+ticket`. A
/// client with a ticket counts by the credential for which it got the ticket; `ticket` means tickets that the operator
/// issued.
package struct RouteAdmission: Codable, Hashable, Sendable {
    /// `nil`: all methods.
    package let methods: Set<String>?

    package static let any = RouteAdmission(methods: nil)

    /// - Parameter methods: all methods that exist.
    init?(_ text: String, methods: [String]) {
        guard !text.hasSameBytes(as: "any") else {
            self = .any
            return
        }
        let names = text.splitAtBytes { $0 == UInt8(ascii: "+") }
        let admitted = methods.filter(names.containsBytes)
        // Each name is known, and none is repeated.
        guard names.count == admitted.count, names.allSatisfy(methods.containsBytes) else { return nil }
        self.init(methods: admitted.count == methods.count ? nil : Set(admitted))
    }

    init(methods: Set<String>?) { self.methods = methods }

    /// - Parameter method: a name of the code's own.
    package func allows(_ method: String) -> Bool { methods?.contains(method) ?? true }
}

/// TLS to the target; the values of `TARGET_TLS_MODE`.
package enum TargetTLSMode: String, Codable, Hashable, Sendable, CaseIterable {
    case plain
    /// TLS, or plain text if the target doesn't support TLS.
    case prefer
    case required
}

/// The PROXY header to the target; the values of `PROXY_PROTOCOL`.
package enum TargetProxyHeader: String, Codable, Hashable, Sendable, CaseIterable {
    case off
    case v1
    case v2
}

/// Whether a route's clients may use compression; the values of `WS_COMPRESSION`.
package enum ClientCompression: String, Codable, Hashable, Sendable, CaseIterable {
    case off, on
}
