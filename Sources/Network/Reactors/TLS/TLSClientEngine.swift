import COpenSSL
import Glibc

/// The client side of one TLS connection, toward a target. Reactor thread only.
final class TLSClientEngine: TLSEngine {
    private let tls: TargetTLS
    private var presentedPin: PublicKeyPin?

    enum Handshake: Equatable {
        case underWay
        case done
        case failed(TargetTLSFailure)
    }

    /// - Parameter host: as configured. A name is sent as SNI and verified; an address is only verified.
    init(_ tls: TargetTLS, host: String, sink: any TLSRecordSink, buffers: BufferPool) throws(TargetTLSFailure) {
        OpenSSLError.clear()
        guard let ssl = SSL_new(tls.context) else { throw .failed(OpenSSLError.drain()) }
        self.tls = tls
        super.init(ssl, of: tls, sink: sink, buffers: buffers)
        SSL_set_ex_data(ssl, Self.sessionIndex, Unmanaged.passUnretained(self).toOpaque())
        guard tls.bio.attach(to: ssl, of: self), setName(host) else { throw .failed(OpenSSLError.drain()) }
        SSL_set_connect_state(ssl)
    }

    /// Continues a session from another reactor.
    init(adopting moving: MovingTLS, sink: any TLSRecordSink, buffers: BufferPool) throws(TargetTLSFailure) {
        OpenSSLError.clear()
        SSL_up_ref(moving.ssl)
        tls = moving.tls
        super.init(moving.ssl, of: moving.tls, sink: sink, buffers: buffers, kept: moving.kept)
        SSL_set_ex_data(ssl, Self.sessionIndex, Unmanaged.passUnretained(self).toOpaque())
        guard tls.bio.attach(to: ssl, of: self) else { throw .failed(OpenSSLError.drain()) }
    }

    /// Hands the session off. It must not be used afterwards.
    func leave() -> MovingTLS {
        MovingTLS(tls, ssl, kept: unread)
    }

    private func setName(_ host: String) -> Bool {
        let parameters = SSL_get0_param(ssl)
        if X509_VERIFY_PARAM_set1_ip_asc(parameters, host) == 1 { return true }
        OpenSSLError.clear()
        let name = host.utf8.last == UInt8(ascii: ".") ? String(Substring(host.utf8.dropLast())) : host
        // RFC 9525: names are taken from subjectAltName only, and a wildcard must be a whole label.
        X509_VERIFY_PARAM_set_hostflags(
            parameters, UInt32(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT))
        return !name.isEmpty && X509_VERIFY_PARAM_set1_host(parameters, name, name.utf8.count) == 1
            && portcullis_SSL_set_server_name(ssl, name) == 1
    }

    // MARK: Handshake

    func handshake() -> Handshake {
        OpenSSLError.clear()
        let result = SSL_do_handshake(ssl)
        if result == 1 {
            guard isVerified else { return .failed(.untrusted("no certificate")) }
            return hasRole ? .done : .failed(.untrusted("it isn't another gateway's"))
        }
        guard SSL_get_error(ssl, result) != SSL_ERROR_WANT_READ else { return .underWay }
        let text = OpenSSLError.drain()
        let verification = SSL_get_verify_result(ssl)
        if let presentedPin, verification != Int(X509_V_OK) { return .failed(.notPinned(presentedPin)) }
        guard verification == Int(X509_V_OK) else {
            return .failed(.untrusted(String(cString: X509_verify_cert_error_string(verification))))
        }
        return .failed(.failed(text))
    }

    /// OpenSSL has verified already, or the handshake would have failed. This is a second, independent check.
    private var isVerified: Bool {
        guard SSL_get_verify_result(ssl) == Int(X509_V_OK), SSL_session_reused(ssl) == 0,
            let certificate = portcullis_SSL_get1_peer_certificate(ssl)
        else { return false }
        defer { X509_free(certificate) }
        return tls.settings.pins.isEmpty || pin(of: certificate).map(tls.settings.pins.contains) == true
    }

    /// With mutual authentication: the peer's certificate has the name that only those of its role have.
    private var hasRole: Bool {
        guard let mutual = tls.settings.mutual else { return true }
        guard let certificate = portcullis_SSL_get1_peer_certificate(ssl) else { return false }
        defer { X509_free(certificate) }
        return PeerRole.has(certificate, name: mutual.peerName)
    }

    private static let sessionIndex = CRYPTO_get_ex_new_index(CRYPTO_EX_INDEX_SSL, 0, nil, nil, nil, nil)

    /// The session whose peer is being verified.
    static func verifying(in store: OpaquePointer?) -> TLSClientEngine? {
        guard let ssl = X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()),
            let session = SSL_get_ex_data(OpaquePointer(ssl), sessionIndex)
        else { return nil }
        return Unmanaged<TLSClientEngine>.fromOpaque(session).takeUnretainedValue()
    }

    /// Whether the target's own certificate has a pinned key. This replaces the verification of its chain. The rest of
    /// the handshake proves that the target holds the private key.
    func verifyPin(in store: OpaquePointer?) -> Bool {
        presentedPin = X509_STORE_CTX_get0_cert(store).flatMap(pin)
        let isPinned = presentedPin.map(tls.settings.pins.contains) == true
        X509_STORE_CTX_set_error(store, isPinned ? X509_V_OK : X509_V_ERR_APPLICATION_VERIFICATION)
        return isPinned
    }

    private func pin(of certificate: OpaquePointer) -> PublicKeyPin? {
        var encoded: UnsafeMutablePointer<UInt8>?
        let count = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), &encoded)
        guard count > 0, let encoded else { return nil }
        defer { CRYPTO_free(encoded, #file, #line) }
        var digest = [UInt8](repeating: 0, count: PublicKeyPin.digestBytes)
        SHA256(encoded, Int(count), &digest)
        return PublicKeyPin(sha256: digest)
    }
}

/// A TLS session on its way between two reactors. It isn't used meanwhile.
///
/// - Note: `@unchecked Sendable` because the only operation on `ssl` here is reference counting, which OpenSSL does
///   atomically.
final class MovingTLS: @unchecked Sendable {
    let tls: TargetTLS
    let ssl: OpaquePointer
    let kept: [UInt8]

    fileprivate init(_ tls: TargetTLS, _ ssl: OpaquePointer, kept: [UInt8]) {
        SSL_up_ref(ssl)
        self.tls = tls
        self.ssl = ssl
        self.kept = kept
    }

    deinit { SSL_free(ssl) }
}
