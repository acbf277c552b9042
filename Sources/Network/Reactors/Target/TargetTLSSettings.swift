import WireText

/// Whether and how the connection to a target is encrypted.
package struct TargetTLSSettings: Sendable, Equatable {
    package enum Mode: String, Sendable, CaseIterable {
        /// Never TLS.
        case plain
        /// TLS, or one plain connection if the target shows no sign of TLS: see `TargetTLSFailure.showsNoTLS`. It
        /// protects against eavesdroppers, not against active attackers.
        case prefer
        /// TLS or no session.
        case required
    }

    package var mode: Mode
    /// A PEM file of the CAs trusted for the target; nil uses the system's.
    package var caPath: String?
    /// If there are any, only they decide: the target's own certificate must have one of these keys; its issuer, name
    /// and expiry are ignored. A self-signed target is therefore trusted exactly, and a pinned target doesn't depend on
    /// its CA.
    package var pins: [PublicKeyPin]
    /// From the TCP connection to the end of the handshake.
    package var handshakeTimeoutMilliseconds: Int
    /// For connections to other gateways of the fleet.
    package var mutual: MutualTLS?

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

/// Authentication in both directions: TLS 1.3 only, this end presents a certificate, and the peer's must have a name
/// that stands for its role.
package struct MutualTLS: Sendable, Equatable {
    package var certificatePath: String
    package var privateKeyPath: String
    /// In addition to the host that is dialled.
    package var peerName: String

    package init(certificatePath: String, privateKeyPath: String, peerName: String) {
        self.certificatePath = certificatePath
        self.privateKeyPath = privateKeyPath
        self.peerName = peerName
    }
}

/// Why `TargetTLS` can't be created, at start.
package enum TargetTLSSettingsError: Error, Equatable {
    /// The CA file can't be read or contains no PEM certificates; OpenSSL's words.
    case caFile(path: String, reason: String)
    /// Our own certificate or key; OpenSSL's words.
    case ownFile(path: String, reason: String)
    /// There is no pin and no CA file, and the system has no CAs either (Debian's package: `ca-certificates`).
    case nothingTrusted
    case openSSL(String)
}

/// Why TLS to a target failed. The texts are OpenSSL's and contain no received data.
package enum TargetTLSFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// The certificate doesn't chain to a trusted CA, isn't currently valid, or is for another name.
    case untrusted(String)
    /// The key isn't pinned. The presented key is public: it may be logged, and pinned.
    case notPinned(PublicKeyPin)
    /// The first bytes are not a TLS record.
    case notTLS
    /// The target closed or reset the connection before the handshake was over.
    case closed(hasSpokenTLS: Bool)
    case timedOut(hasSpokenTLS: Bool)
    /// An alert, or another handshake failure.
    case failed(String)

    /// Whether the target apparently doesn't support TLS: it sent something that isn't TLS, or nothing at all. A target
    /// that spoke TLS and failed, above all one with an invalid certificate, doesn't count.
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

/// A pinned public key of a target: SHA-256 of the certificate's SubjectPublicKeyInfo (RFC 7469 §2.4).
///
/// `openssl x509 -in cert.pem -pubkey -noout | openssl pkey -pubin -outform der | openssl dgst -sha256 -binary |
/// base64` prints it.
package struct PublicKeyPin: Hashable, Sendable, CustomStringConvertible {
    /// 32 bytes.
    package let sha256: [UInt8]

    init?(sha256: [UInt8]) {
        guard sha256.count == Self.digestBytes else { return nil }
        self.sha256 = sha256
    }

    /// - Parameter base64: 44 characters of the standard alphabet, padded; only the canonical encoding is accepted.
    package init?(base64: String) {
        guard let bytes = Base64.decode(canonical: base64, maximumBytes: Self.digestBytes) else { return nil }
        self.init(sha256: bytes)
    }

    package var base64: String { Base64.encode(sha256) }

    /// In the form of `TARGET_TLS_PIN`, so that a key from a log line can be pinned.
    package var description: String { base64 }

    static let digestBytes = 32
}
