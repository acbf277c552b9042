package import Admission
import HTTPWire
import WireText

/// What a peer of the internal listener has to show: the token, or a client certificate. Where both are accepted,
/// either suffices.
package struct InternalAccess: Sendable {
    /// `ADMIN_TOKEN_PATH`
    package var token: InternalToken?
    /// `ADMIN_CLIENT_CA_PATH`, and the listener has TLS.
    package var acceptsCertificates: Bool

    package init(token: InternalToken? = nil, acceptsCertificates: Bool = false) {
        self.token = token
        self.acceptsCertificates = acceptsCertificates
    }

    /// False: everybody who can connect may use the listener.
    var isLimited: Bool { token != nil || acceptsCertificates }

    /// Whether a request of such a peer may be served at all.
    func mayConnect(isCertified: Bool) -> Bool { isCertified || token != nil || !acceptsCertificates }

    /// - Parameters:
    ///   - field: `InternalToken.field` of the request.
    ///   - authorization: `Authorization` of the request, if that is the peer's own: proxies that ask on `/authz` pass
    ///     their client's on.
    ///   - isCertified: asked only if nothing else admits.
    func admits(field: String?, authorization: String?, isCertified: @autoclosure () -> Bool) -> Bool {
        guard isLimited else { return true }
        if let token {
            if let field, token.matches(field) { return true }
            if Self.shows(token, authorization) { return true }
        }
        return acceptsCertificates && isCertified()
    }

    /// - Parameter isQuestion: of a proxy, which passes its client's `Authorization` on.
    func admits(_ head: RequestHead, isQuestion: Bool, isCertified: @autoclosure () -> Bool) -> Bool {
        admits(
            field: head.text(InternalToken.field), authorization: isQuestion ? nil : head.text("authorization"),
            isCertified: isCertified())
    }

    private static func shows(_ token: InternalToken, _ authorization: String?) -> Bool {
        guard let words = authorization?.splitAtBytes(where: { $0 == 0x20 }).filter({ !$0.utf8.isEmpty }),
            words.count == 2
        else { return false }
        return switch WireWord(ASCIIByte.withLowercasedLetters(words[0])) {
        case "bearer": token.matches(String(words[1]))
        case "basic": password(String(words[1])).map(token.matches) ?? false
        default: false
        }
    }

    /// RFC 7617, for browsers that open the console: the token is the password, with any name.
    private static func password(_ credentials: String) -> String? {
        guard let bytes = Base64.decode(credentials, maximumBytes: InternalToken.lengths.upperBound * 2),
            let colon = bytes.firstIndex(of: UInt8(ascii: ":"))
        else { return nil }
        return String(decoding: bytes[(colon + 1)...], as: UTF8.self)
    }

    /// What a reload leads to. The listener's address and whether it has TLS change with a restart only, so new
    /// settings may demand what the listener can't check; then the old demands stay.
    ///
    /// - Parameters:
    ///   - old: what is in effect.
    ///   - mustBeLimited: other machines reach the listener, or the new settings have a token or an authority.
    func replacing(_ old: InternalAccess, mustBeLimited: Bool) -> InternalAccess {
        !isLimited && mustBeLimited ? old : self
    }
}
