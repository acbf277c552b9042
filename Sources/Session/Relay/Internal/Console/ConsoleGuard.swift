import Admission
import HTTPWire
import Reactors
import WireText

/// Whether a request for the console comes from the console's own page, in a browser that was pointed at this gateway.
///
/// A page of a stranger in the operator's browser can send requests to the internal listener, and can give its own name
/// the listener's address (DNS rebinding). So the host must be a name or an address that no stranger's name can be, the
/// request must not say that it comes from elsewhere, and an action must show the token in the page. Over TLS any host
/// is good: the browser has compared it with the listener's certificate.
struct ConsoleGuard: Sendable {
    /// The header field with the page's token.
    static let tokenField = "x-portcullis-console"

    /// Shown in the page; one for each process.
    let token: String
    private let secret: Secret
    /// The bind address, when it is one; nil where the listener is a Unix socket.
    private let bound: IPAddress?

    /// - Parameter random: 32 bytes.
    init(_ address: InternalAddress, random: [UInt8]) {
        token = Hexadecimal.encode(random)
        secret = Secret(token.utf8)
        switch address {
        case .loopback(let host, _), .network(let host, _): bound = IPAddress(text: host)
        case .unix: bound = nil
        }
    }

    enum Fault: String, Error {
        case foreignHost = "the Host isn't this listener's"
        case foreignOrigin = "the request comes from another site"
        case noToken = "the page's token is missing or wrong"
    }

    /// For reading.
    func check(_ head: RequestHead, isTLS: Bool = false) -> Fault? {
        guard let host = head.text("host"), isTLS || isOwn(host) else { return .foreignHost }
        return isForeign(head, host) ? .foreignOrigin : nil
    }

    /// For actions.
    func checkAction(_ head: RequestHead, isTLS: Bool = false) -> Fault? {
        if let fault = check(head, isTLS: isTLS) { return fault }
        guard let shown = head.text(Self.tokenField), secret.matches(shown.utf8) else { return .noToken }
        return nil
    }

    /// Any port: a tunnel may have another one.
    private func isOwn(_ host: String) -> Bool {
        let name = Self.name(of: host)
        if name.hasSameBytes(as: "localhost") { return true }
        guard let address = IPAddress(text: name) else { return false }
        if Self.loopback.contains(where: { $0.contains(address) }) { return true }
        // A listener on all addresses may be any of them. Only names can be rebound.
        guard let bound else { return false }
        return bound == address || bound.bytes.allSatisfy { $0 == 0 }
    }

    private static let loopback = ["127.0.0.0/8", "::1"].compactMap { AddressRange($0) }

    /// Without the port and the brackets.
    private static func name(of host: String) -> String {
        if host.hasBytePrefix("[") {
            return String(Substring(host.utf8.dropFirst().prefix { $0 != UInt8(ascii: "]") }))
        }
        return ASCIIByte.withLowercasedLetters(Substring(host.utf8.prefix { $0 != UInt8(ascii: ":") }))
    }

    private func isForeign(_ head: RequestHead, _ host: String) -> Bool {
        let own = ["http://\(host)", "https://\(host)"]
        if let origin = head.text("origin"), !own.containsBytes(of: origin) { return true }
        // `none`: the operator has typed the address or used a bookmark.
        guard let site = head.text("sec-fetch-site") else { return false }
        return !["same-origin", "none"].containsBytes(of: site)
    }
}
