package struct DevelopmentTokenSection: SettingSection {
    package static let title = "Development tokens"
    package static let neededPart: SettingPart? = .appAttest

    package let isAllowed = LiveSetting<Bool>.boolean(
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

    package let binding = StartSetting<InternalBinding?>.text(
        "ADMIN_BIND", default: nil,
        "`127.0.0.1:PORT`, `[::1]:PORT`, another address with a port, or `unix:FILE`, and options",
        "The internal listener: `/authz`, `/metrics`, `/health`, `/livez`, `/readyz`, perhaps `/console`; unset, there is none.",
        details: """
            `/authz` tells proxies of HTTP services whether a request may pass (AUTHZ_ADMIT), and answers 404 without access tokens; `/metrics` is \
            for Prometheus; `/health` is that of clients; `/livez` and `/readyz` are probes; `/console` is an operator's page, with ADMIN_CONSOLE=on only. Never on WS_PORT. Port 0 takes any free one. config/ has examples for nginx and Caddy. An address that other machines reach needs \
            ADMIN_TOKEN_PATH or ADMIN_CLIENT_CA_PATH, and it has TLS: see the next section. On a loopback address or a Unix socket every \
            program that can connect may ask, unless one of the two is set.
            `unix:FILE,group=NAME` gives the socket's file to a group, whose members may connect; otherwise it has the gateway's own. The file has mode 0660. Make a group for this, with the gateway's user and the proxy's as its members: in the gateway's own group \
            the proxy could read the gateway's settings, TLS key and audit log. systemd opens the socket with a group of its own by SocketGroup=.
            `ADDRESS:PORT,tls=off` leaves TLS out on an address that other machines can reach; it needs ADMIN_TOKEN_PATH then.
            Danger: every program that may ask can tell the gateway which URL a client has asked for. With tls=off everybody on the way can read \
            the token and the metrics: use it only in a network of your own, such as a VPN or the network of a container.
            """, SettingGrammar.internalBinding)
    package let console = LiveSetting<ConsoleSwitch>.choice(
        "ADMIN_CONSOLE", default: .off,
        "Whether `/console` is served: a page with sessions and devices.",
        details: """
            Danger: whoever may use the listener can close sessions, and revoke and restore devices there, also a proxy that needs only \
            `/authz`, and every user of this machine if the listener is on a loopback address without ADMIN_TOKEN_PATH.
            """)
    package let tokenPath = LiveSetting<String?>.path(
        "ADMIN_TOKEN_PATH", "a file",
        "The token that every request to the internal listener has to show; unset, none has to.",
        details: """
            One line of 32 to 512 letters, for instance from `openssl rand -hex 32`; chmod 600. It is shown as `Authorization: Bearer TOKEN`. A \
            proxy that asks on `/authz` passes its client's `Authorization` on, so there it is read from `X-Portcullis-Internal-Token` alone. If \
            ADMIN_CLIENT_CA_PATH is set too, either suffices: the token or a client certificate.
            """)
    package let admits = LiveSetting<AuthorizationAdmission>.choice(
        "AUTHZ_ADMIT", default: .token,
        """
        Whose requests `/authz` lets pass: of attested devices with access tokens (`token`), of development tokens too \
        (`dev`), signed ones (`signed`), of players with passkeys (`passkey`).
        """,
        details: """
            A proxy can demand more for a location, never less: /admit/token/authz, /admit/signed/authz. Development tokens need \
            ALLOW_DEV_TOKENS besides, and signed requests SIGNED_REQUESTS=on.
            """)
    package let body = LiveSetting<AuthorizationBody>.choice(
        "AUTHZ_BODY", default: .off,
        "Whether proxies forward the bodies of signed requests to `/authz`, at most MAX_BODY_BYTES.",
        details: """
            With `off` only requests whose signature has the body's digest pass (recipe 2). With `forwarded` signatures over the body pass, too \
            (recipe 1): the proxy sends the whole body and sets X-Original-Content-Length, also to 0.
            Danger: a proxy that drops bodies and lets its clients set that field has them sign an empty body for any other.
            """)
}

package struct InternalTLSSection: SettingSection {
    package static let title = "TLS of the internal listener"
    package static let part: SettingPart? = .internalTLS

    package let certificatePath = LiveSetting<String?>.path(
        "ADMIN_TLS_CERT_PATH", "a PEM file",
        "The internal listener's certificate, followed by its intermediates; unset, it is TLS_CERT_PATH's where TLS is needed.",
        details: """
            The listener has TLS if this or ADMIN_CLIENT_CA_PATH is set, and if other machines can reach ADMIN_BIND. A Unix socket never has. The \
            rules are those toward clients: TLS 1.2 or later, and a reload reads the files again.
            """)
    package let keyPath = LiveSetting<String?>.path(
        "ADMIN_TLS_KEY_PATH", "a PEM file", "The private key of that certificate, without a passphrase.",
        details: "Set both or neither; unset, it is TLS_KEY_PATH's.")
    package let authorityPath = LiveSetting<String?>.path(
        "ADMIN_CLIENT_CA_PATH", "a PEM file",
        "The authorities whose client certificates may use the internal listener.",
        details: """
            A certificate of one of them suffices for everything that the listener serves; use an authority for this alone. The rules are those \
            of MTLS_CLIENT_CA_PATH: chain, validity, and the purpose of client authentication. With ADMIN_TOKEN_PATH the token suffices as well; \
            without it a connection without a good certificate is closed.
            """)
    package let revocationListPath = LiveSetting<String?>.path(
        "ADMIN_CLIENT_CRL_PATH", "a PEM file", "Revocation lists of those authorities.",
        details: "Each authority needs one, and with an expired one all its certificates are refused.")
}

/// ADMIN_CONSOLE
package enum ConsoleSwitch: String, CaseIterable, Sendable {
    case on, off
}

/// AUTHZ_BODY
package enum AuthorizationBody: String, CaseIterable, Sendable {
    case off, forwarded
}

/// AUTHZ_ADMIT
package enum AuthorizationAdmission: String, CaseIterable, Sendable {
    case token
    case tokenAndDev = "token+dev"
    case tokenAndSigned = "token+signed"
    case tokenDevAndSigned = "token+dev+signed"
    case passkey
    case tokenAndPasskey = "token+passkey"
    case tokenDevAndPasskey = "token+dev+passkey"
    case tokenSignedAndPasskey = "token+signed+passkey"
    case all = "token+dev+signed+passkey"

    /// Names of methods, as in the `admit=` of a route.
    package var methods: Set<String> {
        Set(rawValue.split(separator: "+").map(String.init))
    }
}
