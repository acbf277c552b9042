package import Reactors

package struct DevelopmentTokenSection: SettingSection {
    package static let title = "Development tokens"

    package let isAllowed = Setting<Bool>.boolean(
        "ALLOW_DEV_TOKENS", default: false,
        "Whether development tokens, which replace an attestation, are exchanged for access tokens.",
        details: """
            `portcullis dev-tokens` makes and revokes them; they are in the key store. With `false` they are refused, and so are access tokens \
            that were got with one.
            Danger: whoever has a development token is admitted without an attested device. They are for staging, simulators and automated \
            tests.
            """)
}

package struct InternalListenerSection: SettingSection {
    package static let title = "Internal listener"

    package let address = Setting<InternalAddress?>.text(
        "ADMIN_BIND", default: nil, "`127.0.0.1:PORT`, `[::1]:PORT`, another address with a port, or `unix:FILE`",
        "The internal listener: `/authz` for proxies of HTTP services, `/metrics`, `/livez` and `/readyz`; unset, there is none.",
        details: """
            Plain HTTP, never on WS_PORT. Port 0 takes any free one. The file of a Unix socket has mode 0660 and the gateway's group: put \
            the proxy's user into it. config/ has examples for nginx and Caddy. An address that other machines reach needs ADMIN_TOKEN_PATH \
            and ALLOW_INSECURE_ADMIN_NO_TLS.
            Danger: every program that can connect can tell the gateway which URL a client has asked for.
            """, reload: .restart, SettingGrammar.internalAddress)
    package let tokenPath = Setting<String?>.path(
        "ADMIN_TOKEN_PATH", "a file",
        "The token that every request to the internal listener has to show; unset, none has to.",
        details: """
            One line of 32 to 512 letters, for instance from `openssl rand -hex 32`; chmod 600. It is shown as `Authorization: Bearer TOKEN`. A \
            proxy that asks on `/authz` passes its client's `Authorization` on, so it shows the token as `X-Portcullis-Internal-Token`.
            """)
    package let allowsPlainText = Setting<Bool>.boolean(
        "ALLOW_INSECURE_ADMIN_NO_TLS", default: false,
        "Allows `ADMIN_BIND` on an address that other machines can reach, although the listener has no TLS.",
        details: """
            Danger: everybody on the way can read the token and the metrics. Set it only for a network of your own, such as a VPN or the \
            network of a container.
            """)
    package let admits = Setting<AuthorizationAdmission>.choice(
        "AUTHZ_ADMIT", default: .token,
        "Whose requests `/authz` lets pass: of attested devices (`token`), or of development tokens too (`token+dev`).",
        details: """
            A proxy can demand more for a location, never less: /admit/token/authz. Development tokens need ALLOW_DEV_TOKENS besides.
            """)
}

/// AUTHZ_ADMIT
package enum AuthorizationAdmission: String, CaseIterable, Sendable {
    case token
    case tokenAndDev = "token+dev"

    /// Names of methods, as in the `admit=` of a route.
    package var methods: Set<String> {
        switch self {
        case .token: ["token"]
        case .tokenAndDev: ["token", "dev"]
        }
    }
}

extension SettingGrammar {
    /// An address with a port, or a Unix socket.
    static func internalAddress(_ text: String) throws(SettingProblem) -> InternalAddress? {
        if text.hasPrefix("unix:") {
            let path = String(text.dropFirst("unix:".count))
            guard !path.isEmpty, path.utf8.count <= LocalSocket.maximumPathBytes else {
                throw SettingProblem(
                    problem:
                        "names a socket with an empty path or one longer than \(LocalSocket.maximumPathBytes) bytes",
                    remedy: "The system allows no longer path: use a shorter one.")
            }
            return .unix(path: path)
        }
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]),
            let host = internalHost(String(text[..<colon]))
        else {
            throw SettingProblem(
                problem: "is neither an address with a port nor a Unix socket",
                remedy: "Write it like `127.0.0.1:9090`, `[::1]:9090` or `unix:/run/portcullis/admin.sock`.")
        }
        return host.isLoopback
            ? .loopback(host: host.text, port: port) : .network(host: host.text, port: port)
    }

    /// IPv6 in brackets, as in a URL.
    private static func internalHost(_ text: String) -> NetworkHost? {
        guard text.hasPrefix("["), text.hasSuffix("]") else { return NetworkHost.ipv4(text) }
        return NetworkHost.ipv6(String(text.dropFirst().dropLast()))
    }
}
