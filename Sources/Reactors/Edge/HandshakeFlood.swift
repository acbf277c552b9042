import COpenSSL
import Glibc

/// Ends connections whose client repeatedly requests new keys (RFC 8446 §4.6.3). Each request costs the gateway work and a response, and
/// never appears as application data. Renegotiation requests (TLS 1.2) count too.
enum HandshakeFlood {
    /// The limit for the life of a connection. TLS stacks request new keys only after hundreds of gigabytes.
    static let maximumMessages = 16

    private static let clientHello: UInt8 = 1
    private static let keyUpdate: UInt8 = 24
    /// The number of requests, as a bit pattern.
    private static let countIndex = CRYPTO_get_ex_new_index(CRYPTO_EX_INDEX_SSL, 0, nil, nil, nil, nil)

    static func watch(_ context: OpaquePointer) {
        SSL_CTX_set_msg_callback(context) { isOurs, _, contentType, bytes, count, ssl, _ in
            guard contentType == SSL3_RT_HANDSHAKE, count > 0, let bytes, let ssl else { return }
            guard isOurs == 0 else {
                return CostlyFlight.sent(UnsafeRawBufferPointer(start: bytes, count: count), on: ssl)
            }
            let type = bytes.load(as: UInt8.self)
            guard type == HandshakeFlood.keyUpdate || HandshakeFlood.isRenegotiation(type, ssl) else { return }
            HandshakeFlood.count(ssl)
        }
    }

    /// A ClientHello after the first handshake, which is complete once the client's Finished is known.
    private static func isRenegotiation(_ type: UInt8, _ ssl: OpaquePointer) -> Bool {
        type == clientHello && SSL_get_peer_finished(ssl, nil, 0) > 0
    }

    /// Called inside OpenSSL, which reads such messages as long as they arrive. Marking the session as shut down stops that: OpenSSL reads
    /// no further, and libwebsockets closes the connection.
    private static func count(_ ssl: OpaquePointer) {
        let number = Int(bitPattern: SSL_get_ex_data(ssl, countIndex)) + 1
        SSL_set_ex_data(ssl, countIndex, UnsafeMutableRawPointer(bitPattern: number))
        guard number > maximumMessages else { return }
        SSL_set_shutdown(ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN)
        shutdown(SSL_get_fd(ssl), Int32(SHUT_RDWR))
    }
}
