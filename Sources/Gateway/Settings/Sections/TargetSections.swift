package import Reactors
package import RelayCore
package import Telnet

package struct TargetSection: SettingSection {
    package static let title = "The service behind the gateway"

    package let host = LiveSetting<NetworkHost?>.text(
        "TARGET_HOST", default: nil, "a host name or IP address",
        "The host of the service that admitted clients reach.",
        details: """
            There is no default. Unless TARGET_TLS_MODE says otherwise the connection is plain TCP: use a network that you trust.
            """, SettingGrammar.host
    ).required()
        .alsoSpelled("TN_HOST")
    package let port = LiveSetting<Int?>.number(
        "TARGET_PORT", 1...65_535, "port", "The TCP port of that service.", details: "There is no default."
    ).required()
        .alsoSpelled("TN_PORT")
    package let dialTimeoutMilliseconds = LiveSetting<Int>.integer(
        "TARGET_DIAL_TIMEOUT_MS", default: 10_000, 100...120_000, "ms", "Time limit for connecting to the target.",
        details: "After that the client's session is closed with 1014."
    )
    .alsoSpelled("MUD_DIAL_TIMEOUT_MS")
    package let mode = LiveSetting<TargetMode>.choice(
        "TARGET_MODE", default: .fixed,
        "Where clients that name a target may go: nowhere else, to listed targets, or to any public address.",
        details: """
            `fixed`: TARGET_HOST:TARGET_PORT and the routes only. A host and port that a client names are ignored; the default target is used, \
            since clients of mud-web-proxy always send some. `allowlist`: the targets of TARGET_ALLOWLIST too. `arbitrary`: any public \
            address too, on the ports of TARGET_PORTS. Private and reserved addresses are reached only if this file names them.
            Danger: `arbitrary` lets every admitted client reach the Internet through this machine. It needs REQUIRE_APP_AUTH=true.
            """)
    package let allowed = LiveSetting<[TargetEndpoint]>.text(
        "TARGET_ALLOWLIST", default: [], "`host:port`, comma-separated", "The targets of `TARGET_MODE=allowlist`.",
        details: "An entry that can't be read stops the start.", SettingGrammar.endpoints)
    package let ports = LiveSetting<[ClosedRange<UInt16>]>.text(
        "TARGET_PORTS", default: [], "ports and ranges of them, comma-separated",
        "The ports that `TARGET_MODE=arbitrary` allows.",
        details: """
            For example 23,4000-4999: the ports on which MUDs listen. A route with admit= may not use one of them, since clients could \
            reach its host by another name.
            Danger: most ports up to 1023 belong to other services (23 and 992 are telnet's).
            """, SettingGrammar.ports)
    package let routes = LiveSetting<[Route]>.text(
        "TARGET_ROUTES", default: [], "`name=host:port[,option…]`, separated by `;`",
        "Further targets, chosen by the path `/mud/<name>`, the query `target` or the dialect's own field.",
        details: """
            Options: encoding=, tls=, proxy=, mxp=, mccp= (values as in the settings TARGET_ENCODING, TARGET_TLS_MODE, PROXY_PROTOCOL, MXP_MODE, \
            TARGET_MCCP), compression= (`off` or `on`, see WS_COMPRESSION) and admit=. The value of admit= is `any`, or the admission methods that \
            may use the route: some of `app`, `token`, `dev`, `cert`, `ticket` and `anonymous`, joined by `+`. For example:
              TARGET_ROUTES=main=mud.example.org:4000;staging=127.0.0.1:4001,admit=cert+ticket,tls=required
            """, SettingGrammar.routes
    )
    .alsoSpelled("MUD_ROUTES")
    package let tlsMode = LiveSetting<TargetTLSMode>.choice(
        "TARGET_TLS_MODE", default: .plain, "Whether the target is reached over TLS.",
        details: """
            `prefer` tries TLS first. It falls back to plain text, on a second connection, only if the target doesn't speak TLS. A \
            certificate that isn't trusted is never a reason to fall back.
            """
    )
    .alsoSpelled("MUD_TLS_MODE")
    package let authorityPath = LiveSetting<String?>.path(
        "TARGET_CA_PATH", "a PEM file", "Authorities for the target's certificate, instead of the system's.",
        details: "Can't be combined with TARGET_TLS_PIN."
    )
    .alsoSpelled("MUD_CA_PATH")
    package let pins = LiveSetting<[PublicKeyPin]>.text(
        "TARGET_TLS_PIN", default: [], "SHA-256 in base64, comma-separated",
        "Trusted public keys (SPKI) of the target's certificate, regardless of its issuer; instead of `TARGET_CA_PATH`.",
        details: """
            The certificate's name isn't checked then. For a MUD with a self-signed certificate:
              openssl x509 -in cert.pem -noout -pubkey | openssl pkey -pubin -outform der | openssl dgst -sha256 -binary | base64
            Danger: with TARGET_TLS_MODE=prefer an attacker who blocks TLS gets plain text, pin or not.
            """, SettingGrammar.pins
    )
    .alsoSpelled("MUD_TLS_PIN")
    package let proxyProtocol = LiveSetting<TargetProxyHeader>.choice(
        "PROXY_PROTOCOL", default: .off, "Whether a PROXY header tells the target the client's address.",
        details: """
            The header comes before anything else. `v2` also carries the session's id and the verified identity. A target that doesn't \
            expect the header takes it for input.
            """)
    package let keepAliveSeconds = LiveSetting<Int>.integer(
        "TARGET_KEEPALIVE_SECONDS", default: 120, 0...86_400, "s",
        "How long the target may be sent nothing before it gets a telnet NOP; `0` disables it.",
        details: """
            It keeps firewalls, NATs and load balancers on the way from dropping an idle player's connection. The default is half of 240 s, \
            the shortest usual time-out: see docs/CONFIGURATION.md. Targets that have negotiated no telnet option get no NOP, nor do raw \
            connections, where the client is the telnet end.
            """
    )
    .alsoSpelled("MUD_KEEPALIVE_SECONDS")
}

package struct TelnetSection: SettingSection {
    package static let title = "Telnet"

    package let encoding = LiveSetting<TextEncoding>.text(
        "TARGET_ENCODING", default: .utf8, written: "utf8", "an encoding's name",
        "The target's text encoding, unless the target negotiates one (CHARSET).",
        details: """
            `utf8` (invalid bytes are read as Latin-1), `latin1`, `latin2`, `ascii`, `windows-1251`, `windows-1252`, `koi8-r`, `cp437`, \
            `gbk`, `gb18030`, `big5`, `euc-kr`, `shift_jis`, `euc-jp` and others: see Encodings in docs/CONFIGURATION.md. Raw \
            connections carry bytes, not text.
            """, SettingGrammar.encoding
    )
    .alsoSpelled("TN_ENCODING")
    package let mxp = LiveSetting<MXPMode>.choice(
        "MXP_MODE", default: .refuse,
        "What happens to MXP (markup in a MUD's text): it is passed on, accepted and stripped, or refused.")
    package let mccp = LiveSetting<MCCPMode>.choice(
        "TARGET_MCCP", default: .on, "Whether the target may compress its output (MCCP2).",
        details: """
            `off` refuses the option, for a game that compresses wrongly: its sessions end with target_broken_stream. Better set mccp=off for \
            that game's route alone. Raw connections aren't concerned: there the client negotiates.
            """
    )
    .alsoSpelled("MUD_MCCP")
    package let maximumSubnegotiationBytes = LiveSetting<Int>.integer(
        "MAX_SUBNEGOTIATION_BYTES", default: 65_536, 256...1_048_576, "bytes",
        "The longest telnet subnegotiation from the target; a longer one is dropped.",
        details: "It is dropped completely, and the stream continues.")
}

package struct DialectSection: SettingSection {
    package static let title = "Client dialects"

    package let standard = LiveSetting<DefaultDialect>.choice(
        "DEFAULT_DIALECT", default: .auto,
        "The dialect of clients that offer no subprotocol; `auto` decides by their first message.",
        details: """
            `raw` passes bytes; docs/DIALECTS.md describes `terminal`, `gmcp`, `json`, `typed` and `legacy`. A client may choose a dialect \
            itself, by the query `dialect` of its upgrade.
            """)
    package let waitMilliseconds = LiveSetting<Int>.integer(
        "DIALECT_WAIT_MS", default: 1500, 0...60_000, "ms",
        "How long `auto` waits for the first message; after that the connection is raw.",
        details: "Meanwhile the target's output is held back.")
}
