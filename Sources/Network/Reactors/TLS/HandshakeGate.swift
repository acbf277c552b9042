import COpenSSL

/// Delays a TLS handshake until its reactor has time for it.
///
/// libwebsockets runs `SSL_accept` as soon as a socket is readable, and each flight of a client costs milliseconds.
/// Many that arrive together would all be computed in one turn of the loop. A callback of the socket's BIO therefore
/// tells OpenSSL that there is nothing to read until `HandshakeQueue` selects the connection. One flight is computed
/// then; a costly one that came with the first waits for its own turn.
///
/// The callback is removed when the handshake ends; later reads are libwebsockets' own.
enum HandshakeGate {
    /// Ex-data of the `SSL_CTX`: the `EdgeTLS`, unretained.
    private static let ownerIndex = CRYPTO_get_ex_new_index(CRYPTO_EX_INDEX_SSL_CTX, 0, nil, nil, nil, nil)
    /// Ex-data of the `SSL`: the `EdgeConnection`, unretained. Nil before its handshake begins and after it ends.
    private static let connectionIndex = CRYPTO_get_ex_new_index(CRYPTO_EX_INDEX_SSL, 0, nil, nil, nil, nil)

    /// - Parameter tls: unretained; it must outlive the context.
    static func watch(_ context: OpaquePointer, for tls: EdgeTLS) {
        SSL_CTX_set_ex_data(context, ownerIndex, Unmanaged.passUnretained(tls).toOpaque())
        SSL_CTX_set_info_callback(context) { ssl, event, _ in
            guard let ssl else { return }
            if event & SSL_CB_HANDSHAKE_START != 0 { HandshakeGate.begin(ssl) }
            if event & SSL_CB_HANDSHAKE_DONE != 0 { HandshakeGate.end(ssl) }
        }
    }

    /// Also called for post-handshake messages (a KeyUpdate); no connection is being adopted then.
    private static func begin(_ ssl: OpaquePointer) {
        guard let owner = SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), ownerIndex) else { return }
        let tls = Unmanaged<EdgeTLS>.fromOpaque(owner).takeUnretainedValue()
        tls.begin(ssl)
        guard let connection = tls.takeAdopted(), let bio = SSL_get_rbio(ssl) else { return }
        let me = Unmanaged.passUnretained(connection).toOpaque()
        SSL_set_ex_data(ssl, connectionIndex, me)
        BIO_set_callback_arg(bio, me.assumingMemoryBound(to: CChar.self))
        BIO_set_callback_ex(bio) { bio, operation, _, _, _, _, result, _ in
            guard operation == BIO_CB_READ, let me = BIO_get_callback_arg(bio) else { return Int(result) }
            if Unmanaged<EdgeConnection>.fromOpaque(me).takeUnretainedValue().mayReadHandshake() { return Int(result) }
            portcullis_BIO_ask_to_read_again(bio)
            return -1
        }
    }

    private static func end(_ ssl: OpaquePointer) {
        guard let me = SSL_get_ex_data(ssl, connectionIndex) else { return }
        SSL_set_ex_data(ssl, connectionIndex, nil)
        if let bio = SSL_get_rbio(ssl) {
            BIO_set_callback_ex(bio, nil)
            BIO_set_callback_arg(bio, nil)
        }
        Unmanaged<EdgeConnection>.fromOpaque(me).takeUnretainedValue().handshakeEnded()
    }
}
