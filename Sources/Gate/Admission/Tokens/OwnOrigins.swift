import DPoP
import Synchronization
package import WireText

/// The origins under which clients reach this gateway: those of the URLs that proofs may name.
///
/// A request's `Host` is its sender's word. If it counted alone, a proof that was made for another server would be good
/// here, in a request that names that server. So a `Host` counts only if the server's certificate has that name, with
/// the port on which the gateway listens.
package struct OwnOrigins: Sendable {
    private enum Source: Sendable {
        case setting(String)
        case certificate(ServerNames, ListeningPort)
        case none
    }

    private let source: Source

    /// `PUBLIC_ORIGIN`, whatever `Host` a request has.
    package static func setting(_ origin: String) -> OwnOrigins { OwnOrigins(source: .setting(origin)) }

    package static func certificate(_ names: ServerNames, at port: ListeningPort) -> OwnOrigins {
        OwnOrigins(source: .certificate(names, port))
    }

    /// TLS ends before the gateway, and nothing says where.
    package static let unknown = OwnOrigins(source: .none)

    /// False: no proof can be checked, so there are no access tokens.
    package var areKnown: Bool { first != nil }

    /// The issuer of access tokens, unless the operator has named another one (RFC 8414 section 2).
    package var first: String? {
        switch source {
        case .setting(let origin): origin
        case .certificate(let names, let port): names.first.map { Self.https($0, port.number) }
        case .none: nil
        }
    }

    private static func https(_ host: String, _ port: Int) -> String {
        "https://\(host)" + (port == ServerAuthority.defaultPort ? "" : ":\(port)")
    }

    /// The URL that the proof of a request must name; the query doesn't matter to proofs.
    ///
    /// - Parameters:
    ///   - host: of the request; nil if it has none.
    ///   - path: as in the request line.
    package func url(host: String?, path: String) -> RequestURL {
        switch source {
        case .setting(let origin): return RequestURL(text: origin + path)
        case .certificate(let names, let port):
            guard let host, let authority = ServerAuthority(host), authority.port == port.number,
                names.contains(authority.host)
            else { return RequestURL(ForeignHost(received: host, names: names, port: port.number)) }
            return RequestURL(text: "https://" + host + path)
        case .none: return RequestURL(ForeignHost(received: host, names: ServerNames(), port: 0))
        }
    }
}

/// The URL of a request, for its proof.
package struct RequestURL: Sendable {
    /// Empty for a request to a host that isn't the gateway's: no proof names that.
    package let text: String
    package let foreignHost: ForeignHost?

    init(text: String) { (self.text, foreignHost) = (text, nil) }

    init(_ host: ForeignHost) { (text, foreignHost) = ("", host) }
}

/// The `Host` of a request that isn't one of the gateway's own, for the audit log.
package struct ForeignHost: Sendable {
    let received: String?
    let names: ServerNames
    let port: Int

    /// - Returns: nil where another check has failed.
    func discrepancy(_ refusal: ProofRefusal) -> ProofDiscrepancy? {
        guard refusal == .uriMismatch else { return nil }
        return ("a Host with a name of the server's certificate (\(names)) and port \(port)", received ?? "no Host")
    }
}

/// The names of the server's certificate: of its subjectAltName alone (RFC 9525 section 2).
package struct ServerNames: Hashable, Sendable, CustomStringConvertible {
    /// In lower case. The first label may be `*`.
    private let names: [[UInt8]]
    private let addresses: [IPAddress]

    /// - Parameters:
    ///   - dnsNames: others than host names are left out.
    ///   - addresses: of iPAddress.
    package init(dnsNames: [String] = [], addresses: [IPAddress] = []) {
        names = dnsNames.map { $0.utf8.map(ASCIIByte.lowercased) }.filter(Self.isHostName)
        self.addresses = addresses
    }

    /// The first name without a wildcard, otherwise the first address.
    package var first: String? {
        let name = names.first { $0.first != UInt8(ascii: "*") }
        return name.map { String(decoding: $0, as: UTF8.self) } ?? addresses.first.map(Self.text)
    }

    package var description: String {
        let texts = names.map { String(decoding: $0, as: UTF8.self) } + addresses.map(Self.text)
        return texts.isEmpty ? "none" : texts.joined(separator: ", ")
    }

    /// Whether a client that opens the origin (`https://mud.example.com:6200`) finds its host among the names.
    package func covers(_ origin: WebOrigin) -> Bool { ServerAuthority(origin.host).map { contains($0.host) } ?? false }

    /// - Parameter host: as a client has written it; nothing in it is trusted.
    func contains(_ host: ServerAuthority.Host) -> Bool {
        switch host {
        case .address(let address): addresses.contains(address)
        case .name(let name): names.contains { Self.matches(name, $0) }
        }
    }

    /// RFC 9525 section 6.3: a wildcard is the whole first label of a name, and stands for exactly one label.
    private static func matches(_ host: [UInt8], _ name: [UInt8]) -> Bool {
        guard name.first == UInt8(ascii: "*") else { return host == name }
        guard let dot = host.firstIndex(of: UInt8(ascii: ".")), dot > 0 else { return false }
        return host[dot...] == name[1...]
    }

    private static func isHostName(_ name: [UInt8]) -> Bool {
        let isWildcard = name.starts(with: "*.".utf8)
        let rest = isWildcard ? name.dropFirst(2) : name[...]
        return !rest.isEmpty && name.count <= ServerAuthority.maximumNameBytes
            && rest.allSatisfy(ServerAuthority.isNameByte) && rest.first != UInt8(ascii: ".")
    }

    private static func text(_ address: IPAddress) -> String {
        address.isIPv4 ? address.text : "[\(address.text)]"
    }
}

/// A `Host` over TLS: a name or an address, and a port.
struct ServerAuthority {
    enum Host: Hashable {
        case address(IPAddress)
        /// In lower case.
        case name([UInt8])
    }

    static let defaultPort = 443
    /// RFC 1035 section 2.3.4.
    static let maximumNameBytes = 253
    private static let maximumBytes = maximumNameBytes + 6
    private static let maximumPortDigits = 5

    let host: Host
    let port: Int

    init?(_ text: String) {
        let bytes = Array(text.utf8)
        guard bytes.count <= Self.maximumBytes, let end = Self.hostEnd(bytes) else { return nil }
        guard let host = Self.host(bytes[..<end]), let port = Self.port(bytes[end...]) else { return nil }
        (self.host, self.port) = (host, port)
    }

    private static func hostEnd(_ bytes: [UInt8]) -> Int? {
        guard bytes.first == UInt8(ascii: "[") else { return bytes.firstIndex(of: UInt8(ascii: ":")) ?? bytes.count }
        return bytes.firstIndex(of: UInt8(ascii: "]")).map { $0 + 1 }
    }

    private static func host(_ text: ArraySlice<UInt8>) -> Host? {
        if text.first == UInt8(ascii: "[") {
            let bytes = IPAddressText.ipv6(text.dropFirst().dropLast())
            return bytes.flatMap(IPAddress.init(unconverted:)).map(Host.address)
        }
        if let bytes = IPAddressText.ipv4(text) { return IPAddress(unconverted: bytes).map(Host.address) }
        guard !text.isEmpty, text.count <= maximumNameBytes, text.allSatisfy(isNameByte) else { return nil }
        return .name(text.map(ASCIIByte.lowercased))
    }

    /// - Parameter text: empty, or a colon and digits; without digits it is the default port (RFC 3986 section 6.2.3).
    private static func port(_ text: ArraySlice<UInt8>) -> Int? {
        let digits = text.dropFirst()
        guard text.isEmpty || text.first == UInt8(ascii: ":"), digits.count <= maximumPortDigits,
            digits.allSatisfy(ASCIIByte.isDigit)
        else { return nil }
        return digits.isEmpty ? defaultPort : digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
    }

    /// Of a host name. The underscore isn't allowed in one, but some have it.
    static func isNameByte(_ byte: UInt8) -> Bool {
        ASCIIByte.isLetter(byte) || ASCIIByte.isDigit(byte) || "-._".utf8.contains(byte)
    }
}

/// The port on which the gateway listens for clients. The kernel may choose it, after the settings were read.
package final class ListeningPort: Sendable {
    private let current: Atomic<Int>

    package init(_ number: Int) { current = Atomic(number) }

    package var number: Int { current.load(ordering: .relaxed) }

    package func set(_ number: Int) { current.store(number, ordering: .relaxed) }
}
