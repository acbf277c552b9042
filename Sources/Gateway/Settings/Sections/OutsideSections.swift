package import Admission
import Reactors
package import WireText

package struct ListenerSection: SettingSection {
    package static let title = "Listening"

    package let hosts = StartSetting<[NetworkHost]>.text(
        "BIND_HOST", default: [.loopback], written: "127.0.0.1", "up to 16 IP addresses, comma-separated",
        "The local addresses to listen on; `::` is every address, and `0.0.0.0` every IPv4 address.",
        details: """
            127.0.0.1 is reachable from this machine only. Names aren't accepted, since their addresses may change. All addresses have the \
            same port.
            """, SettingGrammar.addresses)
    package let port = StartSetting<Int>.integer(
        "WS_PORT", default: 6200, 0...65_535, "port",
        "The port for HTTPS and WebSocket; `0` takes any free one.")
}

package struct InboundTLSSection: SettingSection {
    package static let title = "TLS toward clients"
    package static let part: SettingPart? = .clientTLS

    package let mode = StartSetting<InboundTLSMode>.choice(
        "INBOUND_TLS_MODE", default: .required, "Whether clients must speak TLS.",
        details: """
            Danger: with `off` everybody on the way can read and change everything, credentials included. It is accepted if BIND_HOST is a \
            loopback address; otherwise the next setting has to allow it.
            """)
    package let allowsPlainText = LiveSetting<Bool>.boolean(
        "ALLOW_INSECURE_INBOUND_NO_TLS", default: false,
        "Allows `INBOUND_TLS_MODE=off` on an address that other machines can reach.",
        details: """
            Danger: set it only if a proxy in front of the gateway speaks TLS and nothing else can reach this port.
            """)
    package let certificatePath = LiveSetting<String?>.path(
        "TLS_CERT_PATH", "a PEM file", "The server's certificate, followed by its intermediates.",
        details: "Required if INBOUND_TLS_MODE is `required`.")
    package let keyPath = LiveSetting<String?>.path(
        "TLS_KEY_PATH", "a PEM file", "The private key of that certificate, without a passphrase.",
        details: """
            Required if INBOUND_TLS_MODE is `required`. Only the gateway's user should be able to read it (chmod 600); the gateway warns if \
            everybody can.
            """)
    package let minimumVersion = LiveSetting<TLSMinimumVersion>.choice(
        "TLS_MIN_VERSION", default: .tls12, "The oldest version of TLS that clients may speak.")
    package let nextCertificatePath = LiveSetting<String?>.path(
        "NEXT_CERT_PATH", "a PEM file",
        "The certificate that follows, whose key was announced to clients that pin keys.",
        details: """
            `portcullis certificate pins` shows both pins. check-config and the start warn if the certificate in TLS_CERT_PATH isn't older and \
            has another key; a reload warns of a new key that wasn't announced.
            """)
    package let strictTransportSeconds = LiveSetting<Int>.integer(
        "HSTS_MAX_AGE_SECONDS", default: 31_536_000, 0...1_000_000_000, "s",
        "How long browsers that were here use only HTTPS with this host (`Strict-Transport-Security`, RFC 6797).",
        details: """
            `0` tells browsers to forget it. Without TLS the header isn't sent.
            Danger: it holds for all services on the host's name, on every port. Browsers that were told a long time can't use HTTP there \
            until they have seen a `0`.
            """)
}

package struct ProxySection: SettingSection {
    package static let title = "Proxies in front"

    package let trusted = LiveSetting<[AddressRange]>.text(
        "TRUSTED_PROXY_CIDRS", default: [], "addresses or `address/bits`, comma-separated",
        "Proxies that are trusted to name the client's address.",
        details: """
            The client's address is the right-most one in the header that isn't a trusted proxy's.
            Danger: everything that connects from these addresses can choose the address that limits and logs use. 0.0.0.0/0 and ::/0 stop \
            the start.
            """, SettingGrammar.addressRanges)
    package let header = LiveSetting<TrustedProxies.Header>.choice(
        "TRUSTED_PROXY_HEADER", default: .xForwardedFor, ignoresCase: true,
        "The header in which those proxies name the client.",
        details: """
            `forwarded` is the header of RFC 7239. Upper-case letters are accepted. It may be set only together with TRUSTED_PROXY_CIDRS.
            Danger: with `forwarded` the proxy must replace the client's own header. If there are several, only the first one is \
            read, which would be the client's; of `x-forwarded-for` all are read.
            """)
    package let sendHeader = LiveSetting<Bool>.boolean(
        "INBOUND_PROXY_PROTOCOL", default: false,
        "Whether those proxies begin each connection with a PROXY header.",
        details: """
            Version 1 or 2, before TLS. A connection without one is closed. A header that names no client (UNKNOWN, LOCAL) makes the \
            connection count as the proxy's own, and no HTTP header is read. Its time limit is REQUEST_TIMEOUT_MS.
            """)
}

package struct ConnectionSection: SettingSection {
    package static let title = "Connections and HTTP"

    package let maximum = LiveSetting<Int?>.derived(
        "MAX_CONNECTIONS", from: .openConnections, 0...10_000_000, "connections",
        "Open connections in total; `0` derives it from the limit of open files.",
        details: "See `ulimit -n`. Above it a connection is closed before TLS.")
    package let maximumPerAddress = LiveSetting<Int>.integer(
        "MAX_CONNECTIONS_PER_ADDRESS", default: 256, 1...1_000_000, "connections", "Open connections of one address.")
    package let handshakesPerSecond = LiveSetting<Int>.integer(
        "TLS_HANDSHAKES_PER_SECOND", default: HandshakeRates.defaultPerSecond, 1...1_000_000, "handshakes/s",
        """
        TLS handshakes that begin in a second, over all addresses; above it they wait, and the addresses take turns. A quarter as many may \
        compute a key exchange after a HelloRetryRequest, or TLS 1.2 with P-384.
        """,
        details: """
            A handshake takes about half a millisecond of a core with X25519 or P-256, three times as much with P-384, and more with an RSA \
            certificate.
            """)
    package let handshakesPerSecondPerAddress = LiveSetting<Int>.integer(
        "TLS_HANDSHAKES_PER_SECOND_PER_ADDRESS", default: HandshakeRates.defaultPerSecondPerAddress, 1...1_000_000,
        "handshakes/s",
        "TLS handshakes of one address, with a burst of ten seconds' worth; above it connections are closed.",
        details: """
            The burst is for phones behind a carrier's address that reconnect together after an outage. A connection is closed before TLS.
            """)
    package let keepAliveSeconds = LiveSetting<Int>.integer(
        "HTTP_KEEPALIVE_SECONDS", default: 75, 1...3600, "s", "How long an idle HTTP connection stays open.")
    package let requestTimeoutMilliseconds = LiveSetting<Int>.integer(
        "REQUEST_TIMEOUT_MS", default: 10_000, 100...120_000, "ms",
        "Time limit for each step of a request: its TLS handshake, its header, its body, and the decision about an upgrade.",
        details: """
            Each step has the whole time. A slower client is disconnected; an upgrade that isn't decided in time is answered 503.
            """)
    package let maximumBodyBytes = LiveSetting<Int>.integer(
        "MAX_BODY_BYTES", default: 65_536, 16_384...16_777_216, "bytes",
        "The size of a request's body; above it the answer is 413.", details: "A registration needs about 10,000.")
}
