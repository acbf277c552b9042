import WireText

/// The client's request that a proxy asks about (authorization requests), as the proxy describes it.
///
/// Each proxy has its own form:
///
///     nginx           X-Original-Method, X-Original-URL (an absolute URL)
///     Caddy, Traefik  X-Forwarded-Method, X-Forwarded-Proto, X-Forwarded-Host, X-Forwarded-Uri
///     Envoy           the method and path of its own request, behind a prefix; Host, X-Forwarded-Proto
///
/// Proxies pass their clients' header fields on, so a client can add the fields of another form. If they were read, the
/// client could choose the request for which its proof is valid. A description in two forms is therefore refused, and
/// so is a repeated field.
package struct OriginalRequest: Hashable, Sendable {
    package let method: String
    /// Absolute, as the client sees it.
    package let url: String

    /// Why the description can't be used. Whether the client or the proxy is at fault can't be determined.
    package enum Fault: Error, Hashable, Sendable {
        /// No form's fields are present.
        case absent
        /// The fields of two forms are present.
        case ambiguous
        /// A form is incomplete: the missing field.
        case missing(String)
        case repeated(String)
        case malformed(String)
    }

    package static let maximumURLBytes = 8_192
    package static let maximumMethodBytes = 32

    /// - Parameters:
    ///   - path: the rest of the path of the proxy's request after the endpoint's own, with the query; empty except
    ///     from Envoy.
    ///   - ownMethod: of the proxy's request.
    ///   - fields: the values of all fields of a lower-case name.
    package init(path: String, ownMethod: String, fields: (String) -> [String]) throws(Fault) {
        let hasOriginal = Self.isAny(of: ["x-original-method", "x-original-url"], in: fields)
        let hasForwarded = Self.isAny(of: ["x-forwarded-method", "x-forwarded-uri"], in: fields)
        switch (hasOriginal, hasForwarded, path.isEmpty) {
        case (true, false, true):
            method = try Self.method(try Self.single("x-original-method", fields), "x-original-method")
            url = try Self.url(try Self.single("x-original-url", fields), "x-original-url")
        case (false, true, true):
            method = try Self.method(try Self.single("x-forwarded-method", fields), "x-forwarded-method")
            url = try Self.url(
                scheme: "x-forwarded-proto", host: "x-forwarded-host",
                path: try Self.single("x-forwarded-uri", fields), fields)
        case (false, false, false):
            method = try Self.method(ownMethod, "method")
            url = try Self.url(scheme: "x-forwarded-proto", host: "host", path: path, fields)
        case (false, false, true): throw .absent
        default: throw .ambiguous
        }
    }

    private static func isAny(of names: [String], in fields: (String) -> [String]) -> Bool {
        names.contains { !fields($0).isEmpty }
    }

    private static func single(_ name: String, _ fields: (String) -> [String]) throws(Fault) -> String {
        let values = fields(name)
        guard let value = values.first else { throw .missing(name) }
        guard values.count == 1 else { throw .repeated(name) }
        return value
    }

    /// RFC 9110 section 9.1: methods are tokens, and case-sensitive.
    private static func method(_ text: String, _ name: String) throws(Fault) -> String {
        guard (1...maximumMethodBytes).contains(text.utf8.count), text.utf8.allSatisfy(isTokenByte) else {
            throw .malformed(name)
        }
        return text
    }

    private static func url(_ text: String, _ name: String) throws(Fault) -> String {
        guard text.utf8.count <= maximumURLBytes, text.hasBytePrefix("https://") || text.hasBytePrefix("http://"),
            text.utf8.allSatisfy(isVisible)
        else { throw .malformed(name) }
        return text
    }

    private static func url(
        scheme: String, host: String, path: String, _ fields: (String) -> [String]
    ) throws(Fault) -> String {
        let (schemeText, hostText) = (try single(scheme, fields), try single(host, fields))
        // Proxies name a WebSocket's scheme differently.
        guard ["https", "http", "wss", "ws"].containsBytes(of: schemeText) else { throw .malformed(scheme) }
        // A host with a slash would move the border between host and path.
        guard !hostText.isEmpty, hostText.utf8.allSatisfy(isHostByte) else { throw .malformed(host) }
        guard path.hasBytePrefix("/") else { throw .malformed("x-forwarded-uri") }
        let isSecure = ["https", "wss"].containsBytes(of: schemeText)
        return try url("\(isSecure ? "https" : "http")://\(hostText)\(path)", "x-forwarded-uri")
    }

    /// RFC 3986 section 3.2: a registered name or an address, and a port. No user information.
    private static func isHostByte(_ byte: UInt8) -> Bool { isLetterOrDigit(byte) || "-._~:[]".utf8.contains(byte) }

    private static func isTokenByte(_ byte: UInt8) -> Bool {
        isLetterOrDigit(byte) || "!#$%&'*+-.^_`|~".utf8.contains(byte)
    }

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "A")...UInt8(ascii: "Z"):
            true
        default: false
        }
    }

    private static func isVisible(_ byte: UInt8) -> Bool { (0x21...0x7E).contains(byte) }
}

extension OriginalRequest.Fault: CustomStringConvertible {
    /// For the log. It contains names of fields, and nothing of their values.
    package var description: String {
        switch self {
        case .absent: "neither X-Original-Method and X-Original-URL nor X-Forwarded-Method and X-Forwarded-Uri"
        case .ambiguous: "the original request is described in two forms"
        case .missing(let name): "\(name) is missing"
        case .repeated(let name): "\(name) is repeated"
        case .malformed(let name): "\(name) is malformed"
        }
    }
}
