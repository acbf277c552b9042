import CLibwebsockets
import COpenSSL
import Glibc

/// Read-ahead: OpenSSL reads all available bytes of the socket in one call, instead of two calls per record (header,
/// then body).
///
/// libwebsockets 4.1.6 waits for the socket to become readable, so it would not read what OpenSSL already holds. The
/// connection is therefore notified of each read of its socket, by a callback of the BIO, because libwebsockets doesn't
/// report a read that completes no record. It then makes libwebsockets serve it, outside the callbacks, until nothing
/// is left. This also delivers several records of a client in one turn of the loop, and so in one write to the target.
enum ReadAhead {
    /// The maximum number of further records served in one turn: a client that sends many small ones must wait for the
    /// others.
    static let recordsPerTurn = 64

    /// - Parameter connection: unretained; it calls ``end(on:)`` before it is released.
    static func begin(on wsi: OpaquePointer, for connection: WebSocketConnection) {
        guard let ssl = lws_get_ssl(wsi), let bio = SSL_get_rbio(ssl) else { return }
        SSL_set_read_ahead(ssl, 1)
        let me = Unmanaged.passUnretained(connection).toOpaque()
        BIO_set_callback_arg(bio, me.assumingMemoryBound(to: CChar.self))
        BIO_set_callback_ex(bio) { bio, operation, _, _, _, _, result, count in
            if operation == BIO_CB_READ | BIO_CB_RETURN, let me = BIO_get_callback_arg(bio) {
                let webSocket = Unmanaged<WebSocketConnection>.fromOpaque(me).takeUnretainedValue()
                webSocket.socketWasRead(bytes: result > 0 ? count?.pointee ?? 0 : 0)
            }
            return Int(result)
        }
    }

    static func end(on wsi: OpaquePointer) {
        guard let ssl = lws_get_ssl(wsi), let bio = SSL_get_rbio(ssl) else { return }
        BIO_set_callback_ex(bio, nil)
        BIO_set_callback_arg(bio, nil)
    }

    /// Whether OpenSSL holds bytes of the socket, even part of a record.
    static func holdsBytes(_ wsi: OpaquePointer) -> Bool {
        guard let ssl = lws_get_ssl(wsi) else { return false }
        return SSL_has_pending(ssl) == 1
    }

    /// Does what libuv does when the socket is readable. Not inside a callback of libwebsockets.
    static func serve(_ wsi: OpaquePointer) {
        let readable = Int16(POLLIN)
        var event = pollfd(fd: lws_get_socket_fd(wsi), events: readable, revents: readable)
        lws_service_fd(lws_get_context(wsi), &event)
    }
}
