/// Whether and how the way to a target is encrypted.
package struct TargetTLSSettings: Sendable, Equatable {
    package enum Mode: String, Sendable, CaseIterable {
        /// Never TLS.
        case plain
        /// TLS, or one plain connection where the target shows that it speaks none: see `TargetTLSFailure.showsNoTLS`. It keeps
        /// listeners out, not somebody who can change what passes on the wire.
        case prefer
        /// TLS or no session.
        case required
    }

    package var mode: Mode
    /// A PEM file of the CAs that may vouch for the target; nil trusts the system's.
    package var caPath: String?
    /// Where there are any, one of them decides alone: the target's own certificate must carry that key, and who signed it, for which name
    /// and until when doesn't matter. So a self-signed target is trusted exactly, and a pinned one isn't lost with its CA.
    package var pins: [PublicKeyPin]
    /// From the TCP connection to the end of the handshake.
    package var handshakeTimeoutMilliseconds: Int

    package init(
        mode: Mode, caPath: String? = nil, pins: [PublicKeyPin] = [],
        handshakeTimeoutMilliseconds: Int = Self.defaultHandshakeTimeoutMilliseconds
    ) {
        self.mode = mode
        self.caPath = caPath
        self.pins = pins
        self.handshakeTimeoutMilliseconds = handshakeTimeoutMilliseconds
    }

    package static let defaultHandshakeTimeoutMilliseconds = 4_000
}

/// What makes `TargetTLS` impossible, at start.
package enum TargetTLSSettingsError: Error, Equatable {
    /// The CA file can't be read, or isn't certificates in PEM; OpenSSL's words.
    case caFile(path: String, reason: String)
    /// No pin, no CA file, and the system has no CAs either (Debian's package: `ca-certificates`).
    case nothingTrusted
    case openSSL(String)
}

/// Why a connection to a target didn't get its TLS. The texts are OpenSSL's, and carry nothing of what was sent.
package enum TargetTLSFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// The certificate doesn't lead to a trusted CA, isn't valid now, or is for another name.
    case untrusted(String)
    /// The key is none of the pinned ones. The one shown is public: it may be logged, and pinned.
    case notPinned(PublicKeyPin)
    /// The first bytes are no TLS record.
    case notTLS
    /// The target closed or reset the connection before the handshake was over.
    case closed(hasSpokenTLS: Bool)
    case timedOut(hasSpokenTLS: Bool)
    /// An alert, or a handshake that went wrong.
    case failed(String)

    /// Whether the target doesn't speak TLS, as far as can be seen: what it sent isn't TLS, or it sent nothing at all. A target that spoke
    /// TLS and failed, above all one with a wrong certificate, is none of these.
    var showsNoTLS: Bool {
        switch self {
        case .notTLS, .closed(hasSpokenTLS: false), .timedOut(hasSpokenTLS: false): true
        case .untrusted, .notPinned, .closed, .timedOut, .failed: false
        }
    }

    /// For the log.
    package var description: String {
        switch self {
        case .untrusted(let reason): "the target's certificate isn't trusted: \(reason)"
        case .notPinned(let pin): "the target's key \(pin) isn't pinned"
        case .notTLS: "the target doesn't speak TLS"
        case .closed(hasSpokenTLS: false): "the target closed the connection without a TLS record"
        case .closed(hasSpokenTLS: true): "the target closed the connection during the TLS handshake"
        case .timedOut(hasSpokenTLS: false): "the target sent nothing in the time for the TLS handshake"
        case .timedOut(hasSpokenTLS: true): "the TLS handshake took too long"
        case .failed(let reason): "the TLS handshake failed: \(reason)"
        }
    }
}
