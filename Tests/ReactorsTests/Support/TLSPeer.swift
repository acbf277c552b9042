import COpenSSL
import Glibc

@testable import Reactors

/// The server or client side of TLS on a plain socket, with OpenSSL's own blocking calls.
///
/// - Note: `@unchecked Sendable` because only one thread of a test uses it at a time.
final class TLSPeer: @unchecked Sendable {
    let socket: PlainSocket
    private let ssl: OpaquePointer
    /// Why a read failed, in OpenSSL's words.
    private(set) var failure = ""

    struct Settings: Sendable {
        var identity = TestCertificates.server
        /// nil for the version that both sides prefer.
        var version: Int32?
        /// The only group that the server supports; nil for the one that both sides prefer.
        var group: String?
    }

    /// - Returns: nil if the handshake fails.
    static func accept(_ socket: PlainSocket, _ settings: Settings = Settings()) -> TLSPeer? {
        let peer = TLSPeer(socket, settings)
        return SSL_accept(peer.ssl) == 1 ? peer : nil
    }

    /// The client side; it accepts any certificate.
    ///
    /// - Returns: nil if the handshake fails.
    static func connect(_ socket: PlainSocket) -> TLSPeer? {
        let peer = TLSPeer(connecting: socket)
        return SSL_connect(peer.ssl) == 1 ? peer : nil
    }

    private init(connecting socket: PlainSocket) {
        self.socket = socket
        let context = SSL_CTX_new(TLS_client_method())
        ssl = SSL_new(context)
        SSL_CTX_free(context)
        SSL_set_fd(ssl, socket.descriptor)
    }

    init(_ socket: PlainSocket, presenting identity: TestIdentity?, version: Int32?, serverName: String?) {
        self.socket = socket
        let context = SSL_CTX_new(TLS_client_method())
        if let identity {
            SSL_CTX_use_certificate(context, identity.certificate)
            SSL_CTX_use_PrivateKey(context, identity.key)
        }
        if let version { SSL_CTX_ctrl(context, SSL_CTRL_SET_MAX_PROTO_VERSION, Int(version), nil) }
        ssl = SSL_new(context)
        SSL_CTX_free(context)
        if let serverName { _ = portcullis_SSL_set_server_name(ssl, serverName) }
        SSL_set_fd(ssl, socket.descriptor)
    }

    func shakeHands() -> Bool { SSL_connect(ssl) == 1 }

    private init(_ socket: PlainSocket, _ settings: Settings) {
        self.socket = socket
        let context = SSL_CTX_new(TLS_server_method())
        SSL_CTX_set_cipher_list(context, "DEFAULT@SECLEVEL=0")  // TLS 1.1 would not be offered otherwise.
        SSL_CTX_use_certificate(context, settings.identity.certificate)
        SSL_CTX_use_PrivateKey(context, settings.identity.key)
        if let version = settings.version {
            SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, Int(version), nil)
            SSL_CTX_ctrl(context, SSL_CTRL_SET_MAX_PROTO_VERSION, Int(version), nil)
        }
        if let group = settings.group { _ = portcullis_SSL_CTX_set1_groups_list(context, group) }
        ssl = SSL_new(context)
        SSL_CTX_free(context)
        SSL_set_fd(ssl, socket.descriptor)
    }

    deinit { SSL_free(ssl) }

    var version: String { String(cString: SSL_get_version(ssl)) }

    var serverName: String? { SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name).map { String(cString: $0) } }

    /// At most `limit` bytes; empty at close_notify, nil if the session failed or nothing arrived in time.
    func read(upTo limit: Int) -> [UInt8]? {
        var buffer = [UInt8](repeating: 0, count: limit)
        var count = 0
        OpenSSLError.clear()
        if SSL_read_ex(ssl, &buffer, limit, &count) == 1 { return Array(buffer[..<count]) }
        if SSL_get_error(ssl, 0) == SSL_ERROR_ZERO_RETURN { return [] }
        failure = OpenSSLError.drain()
        return nil
    }

    /// Everything up to close_notify.
    func readAll() -> [UInt8]? {
        var all: [UInt8] = []
        while let bytes = read(upTo: 65_536) {
            guard !bytes.isEmpty else { return all }
            all += bytes
        }
        return nil
    }

    @discardableResult
    func write(_ bytes: [UInt8]) -> Bool {
        OpenSSLError.clear()
        return bytes.isEmpty || SSL_write(ssl, bytes, Int32(bytes.count)) == bytes.count
    }

    /// The number of bytes that OpenSSL reads from the socket at once if it reads ahead and enough are available. The
    /// peer sends eight bytes first.
    func bytesOfOneRead() -> Int? {
        _ = read(upTo: 8)
        SSL_set_read_ahead(ssl, 1)
        let before = socket.awaitBytes(2 * Int(SSL3_RT_MAX_PLAIN_LENGTH))
        guard read(upTo: 1) != nil else { return nil }
        return before - socket.bytesThatWait
    }

    /// The records for `pieces`, one each. They must be written to the socket before anything else.
    func sealed(_ pieces: [[UInt8]]) -> [UInt8] {
        let memory = BIO_new(BIO_s_mem())
        SSL_set0_wbio(ssl, memory)  // `ssl` owns it until the socket replaces it.
        for piece in pieces { write(piece) }
        var records = [UInt8](repeating: 0, count: BIO_ctrl_pending(memory))
        BIO_read(memory, &records, Int32(records.count))
        SSL_set_wfd(ssl, socket.descriptor)
        return records
    }

    /// Sends close_notify without FIN.
    func sendCloseNotify() {
        OpenSSLError.clear()
        SSL_shutdown(ssl)
    }

    /// Updates the keys and requests new ones from the other side (RFC 8446 §4.6.3).
    func updateKeys() -> Bool {
        SSL_key_update(ssl, SSL_KEY_UPDATE_REQUESTED) == 1 && SSL_do_handshake(ssl) == 1
    }

    /// The contents of our last Finished, which differ for each handshake (RFC 5246 §7.4.9).
    var finished: [UInt8] {
        var bytes = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        return Array(bytes[..<SSL_get_finished(ssl, &bytes, bytes.count)])
    }

    /// Requests a renegotiation (RFC 5246 §7.4.1.1).
    func askToRenegotiate() {
        SSL_renegotiate(ssl)
        SSL_do_handshake(ssl)
    }
}
