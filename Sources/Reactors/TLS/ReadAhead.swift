import CLibwebsockets
import COpenSSL
import Glibc

/// Reading ahead: OpenSSL takes all that the socket has in one call, in place of two for each record (its header, then its body).
///
/// libwebsockets 4.1.6 waits for the socket to become readable, and would not come for what OpenSSL holds already. So the connection is
/// told of each read of its socket (by a callback of the BIO, since libwebsockets doesn't tell of one that brings no whole record), and
/// has libwebsockets served itself, outside of its callbacks, until nothing is left. That also brings what a client has sent in several
/// records into one turn of the loop, and so into one write to the target.
enum ReadAhead {
    /// Records that are served in one turn behind the first: one that sends many small ones waits for the others.
    static let recordsPerTurn = 64

    /// - Parameter connection: unretained; it calls ``end(on:)`` before it goes.
    static func begin(on wsi: OpaquePointer, for connection: WebSocketConnection) {
        guard let ssl = lws_get_ssl(wsi), let bio = SSL_get_rbio(ssl) else { return }
        SSL_set_read_ahead(ssl, 1)
        let me = Unmanaged.passUnretained(connection).toOpaque()
        BIO_set_callback_arg(bio, me.assumingMemoryBound(to: CChar.self))
        BIO_set_callback_ex(bio) { bio, operation, _, _, _, _, result, _ in
            if operation == BIO_CB_READ | BIO_CB_RETURN, let me = BIO_get_callback_arg(bio) {
                Unmanaged<WebSocketConnection>.fromOpaque(me).takeUnretainedValue().socketWasRead(isEmpty: result <= 0)
            }
            return Int(result)
        }
    }

    static func end(on wsi: OpaquePointer) {
        guard let ssl = lws_get_ssl(wsi), let bio = SSL_get_rbio(ssl) else { return }
        BIO_set_callback_ex(bio, nil)
        BIO_set_callback_arg(bio, nil)
    }

    /// Whether OpenSSL holds bytes of the socket, be it a part of a record.
    static func holdsBytes(_ wsi: OpaquePointer) -> Bool {
        guard let ssl = lws_get_ssl(wsi) else { return false }
        return SSL_has_pending(ssl) == 1
    }

    /// What libuv does when the socket is readable. Not inside a callback of libwebsockets.
    static func serve(_ wsi: OpaquePointer) {
        let readable = Int16(POLLIN)
        var event = pollfd(fd: lws_get_socket_fd(wsi), events: readable, revents: readable)
        lws_service_fd(lws_get_context(wsi), &event)
    }
}
