import WireText

/// A URI in the one form in which `htu` and a request's target are compared: normalised by syntax and scheme (RFC 3986
/// sections 6.2.2 and 6.2.3), without query and fragment (RFC 9449 section 4.3), with `ws` as `http` and `wss` as
/// `https`, because a WebSocket begins as an HTTP request.
public struct TargetURI: Hashable, Sendable, CustomStringConvertible {
    /// Longer ones are refused.
    public static let maximumBytes = 8_192
    private static let maximumPortDigits = 5

    /// The normalised URI.
    public let text: String

    /// - Returns: nil for text that isn't an absolute URI of `http`, `https`, `ws` or `wss` with a host, has user
    ///   information, or has characters that no URI has.
    public init?(_ text: String) {
        guard text.utf8.count <= Self.maximumBytes else { return nil }
        let bytes = Array(text.utf8).prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")),
            let scheme = Scheme(bytes[..<colon]), bytes[colon...].starts(with: "://".utf8)
        else { return nil }
        let rest = bytes[(colon + 3)...]
        let slash = rest.firstIndex(of: UInt8(ascii: "/")) ?? rest.endIndex
        guard let authority = Self.authority(rest[..<slash], scheme), let path = Self.path(rest[slash...]) else {
            return nil
        }
        self.text = String(decoding: Array("\(scheme.rawValue)://".utf8) + authority + path, as: UTF8.self)
    }

    public var description: String { text }

    private enum Scheme: String {
        case http, https

        init?(_ text: ArraySlice<UInt8>) {
            func isNamed(_ scheme: StaticString) -> Bool {
                text.elementsEqual(scheme.description.utf8) { ASCIIByte.lowercased($0) == $1 }
            }
            if isNamed("http") || isNamed("ws") {
                self = .http
            } else if isNamed("https") || isNamed("wss") {
                self = .https
            } else {
                return nil
            }
        }

        var defaultPort: Int { self == .http ? 80 : 443 }
    }
}

// The authority.
extension TargetURI {
    /// The host in lower case, and the port where it isn't the scheme's own.
    private static func authority(_ text: ArraySlice<UInt8>, _ scheme: Scheme) -> [UInt8]? {
        let hostEnd: Int
        if text.first == UInt8(ascii: "[") {
            guard let bracket = text.firstIndex(of: UInt8(ascii: "]")), bracket > text.startIndex + 1,
                text[(text.startIndex + 1)..<bracket].allSatisfy(isAddressByte)
            else { return nil }
            hostEnd = bracket + 1
        } else {
            hostEnd = text.firstIndex(of: UInt8(ascii: ":")) ?? text.endIndex
            guard hostEnd > text.startIndex, text[..<hostEnd].allSatisfy(isUnreserved) else { return nil }
        }
        let host = text[..<hostEnd].map(ASCIIByte.lowercased)
        guard hostEnd < text.endIndex else { return host }
        guard text[hostEnd] == UInt8(ascii: ":"), let port = port(text[(hostEnd + 1)...], scheme) else { return nil }
        return port == scheme.defaultPort ? host : host + Array(":\(port)".utf8)
    }

    /// An empty port is the default one (RFC 3986 section 6.2.3).
    private static func port(_ digits: ArraySlice<UInt8>, _ scheme: Scheme) -> Int? {
        guard !digits.isEmpty else { return scheme.defaultPort }
        guard digits.count <= maximumPortDigits,
            digits.allSatisfy(ASCIIByte.isDigit)
        else { return nil }
        return digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
    }

    /// A character of an IPv6 address. Its spelling isn't normalised further.
    private static func isAddressByte(_ byte: UInt8) -> Bool {
        Hexadecimal.value(of: byte) != nil || byte == UInt8(ascii: ":") || byte == UInt8(ascii: ".")
    }
}

// The path.
extension TargetURI {
    /// Normalises percent-encodings, then removes dot segments; the result is at least a slash.
    private static func path(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        guard let path = normalisedEncoding(text) else { return nil }
        var kept: [ArraySlice<UInt8>] = []
        let segments = path.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).dropFirst()
        for (index, segment) in zip(segments.indices, segments) {
            let isLast = index == segments.endIndex - 1
            switch segment {
            case [UInt8(ascii: ".")]: if isLast { kept.append([]) }
            case [UInt8(ascii: "."), UInt8(ascii: ".")]:
                _ = kept.popLast()
                if isLast { kept.append([]) }
            default: kept.append(segment)
            }
        }
        guard !kept.isEmpty else { return [UInt8(ascii: "/")] }
        return kept.reduce(into: []) { path, segment in path += [UInt8(ascii: "/")] + segment }
    }

    /// Hexadecimal digits in upper case, and no encoding of what needs none (RFC 3986 sections 6.2.2.1 and 6.2.2.2).
    private static func normalisedEncoding(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        var path: [UInt8] = []
        path.reserveCapacity(text.count)
        var position = text.startIndex
        while position < text.endIndex {
            let byte = text[position]
            if byte == UInt8(ascii: "%") {
                guard position + 2 < text.endIndex, let high = Hexadecimal.value(of: text[position + 1]),
                    let low = Hexadecimal.value(of: text[position + 2])
                else { return nil }
                append(high << 4 | low, to: &path)
                position += 3
            } else {
                guard isPathByte(byte) else { return nil }
                path.append(byte)
                position += 1
            }
        }
        return path
    }

    private static func append(_ decoded: UInt8, to path: inout [UInt8]) {
        guard !isUnreserved(decoded) else { return path.append(decoded) }
        let digits = Array("0123456789ABCDEF".utf8)
        path += [UInt8(ascii: "%"), digits[Int(decoded >> 4)], digits[Int(decoded & 0xF)]]
    }

    /// RFC 3986 section 2.3.
    private static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "~"):
            true
        default: false
        }
    }

    /// `pchar` and the slash (RFC 3986 section 3.3), and what browsers leave in a path as it is.
    private static func isPathByte(_ byte: UInt8) -> Bool {
        isUnreserved(byte) || "/!$&'()*+,;=:@[]|".utf8.contains(byte)
    }
}
