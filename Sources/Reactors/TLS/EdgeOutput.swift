import CLibwebsockets
import COpenSSL

/// Writes to a client's socket. Reactor thread only.
///
/// Over TLS it calls OpenSSL itself: `lws_write` would hold back what the socket doesn't take, and a connection that libwebsockets 4.1.6
/// closes then spins for ever when TLS has input waiting. So nobody has to ask the socket for room before each write.
enum EdgeOutput {
    enum Outcome {
        case written
        /// The socket has no room. The record is made, though: the same bytes have to be given again when there is.
        case full
        case broken
    }

    /// Without TLS: whether the socket has room for a piece. Over TLS `write` tells.
    static func mayWrite(to wsi: OpaquePointer) -> Bool {
        lws_get_ssl(wsi) != nil || lws_send_pipe_choked(wsi) == 0
    }

    /// - Parameter bytes: at most what a TLS record holds, so that all of them are written, or none. Up to `LWS_PRE` bytes before them may be
    ///   overwritten.
    static func write(_ bytes: UnsafeMutableRawBufferPointer, to wsi: OpaquePointer) -> Outcome {
        guard let ssl = lws_get_ssl(wsi) else { return writePlain(bytes, to: wsi) }
        ERR_clear_error()  // `SSL_get_error` looks at what is there.
        let count = SSL_write(ssl, bytes.baseAddress, Int32(bytes.count))
        if count == Int32(bytes.count) { return .written }
        return SSL_get_error(ssl, count) == SSL_ERROR_WANT_WRITE ? .full : .broken
    }

    /// The socket has room for a whole piece where poll says that it has some; should it not, the connection ends.
    private static func writePlain(_ bytes: UnsafeMutableRawBufferPointer, to wsi: OpaquePointer) -> Outcome {
        let start = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
        let count = lws_write(wsi, start, bytes.count, PORTCULLIS_LWS_WRITE_RAW)
        return count >= 0 && lws_partial_buffered(wsi) == 0 ? .written : .broken
    }
}
