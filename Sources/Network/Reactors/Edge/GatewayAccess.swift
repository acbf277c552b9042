import COpenSSL
package import FleetWire

/// Who may pass clients' upgrades on to this gateway: a peer whose certificate verifies against the fleet's own
/// authority, and has the name that only gateways' certificates have.
package struct GatewayAccess: Sendable {
    /// In the certificates of all gateways of the fleet.
    package var peerName: String

    package init(peerName: String) { self.peerName = peerName }

    /// Inside OpenSSL, at the end of the handshake.
    ///
    /// - Parameter material: has the fleet's authority.
    /// - Returns: nil if the peer is another gateway.
    func refusal(ofPeer ssl: OpaquePointer?, trusting material: TLSMaterial?) -> GatewayRefusal? {
        guard let ssl, let material, let shown = PeerCertificate(of: ssl, trusting: material) else {
            return .noCertificate
        }
        guard shown.isVerified else { return .untrusted(shown.verificationError ?? "not verified") }
        guard let certificate = portcullis_SSL_get1_peer_certificate(ssl) else { return .noCertificate }
        defer { X509_free(certificate) }
        return PeerRole.has(certificate, name: peerName) ? nil : .notGateway
    }
}

/// Why a connection to the fleet's own listener was ended before its first request. The texts are OpenSSL's.
package enum GatewayRefusal: Hashable, Sendable {
    case noCertificate
    case untrusted(String)
    /// The fleet's authority has signed the certificate, but it isn't a gateway's.
    case notGateway
    case preface(RelayPrefaceFault)
    /// It didn't say in time whose request follows.
    case late(hasBegun: Bool)

    /// For the log.
    package var detail: String {
        switch self {
        case .noCertificate: "no certificate"
        case .untrusted(let reason): "its certificate isn't trusted: \(reason)"
        case .notGateway: "its certificate isn't a gateway's"
        case .preface(let fault): "a malformed preface: \(fault)"
        case .late(let hasBegun): hasBegun ? "no whole preface in time" : "no preface in time"
        }
    }
}

enum PeerRole {
    /// RFC 9525: names are taken from subjectAltName only, and no wildcard stands for a role.
    static func has(_ certificate: OpaquePointer, name: String) -> Bool {
        let flags = UInt32(X509_CHECK_FLAG_NO_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT)
        return !name.isEmpty && X509_check_host(certificate, name, name.utf8.count, flags, nil) == 1
    }
}
