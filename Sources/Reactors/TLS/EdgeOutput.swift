import CLibwebsockets
import COpenSSL

/// Writes to a client's socket. Reactor thread only.
///
/// Over TLS it calls OpenSSL itself: `lws_write` would hold back what the socket doesn't take, and a connection that libwebsockets 4.1.6
/// closes then spins for ever when TLS has input waiting. So nobody has to ask the socket for room before each write.
enum EdgeOutput {
    enum Outcome {
        case written
        /// The socket has no room for the last `unsent` bytes. Their record is made, though: they have to be given again as they are.
        case full(unsent: Int)
        case broken
    }

    /// Without TLS: whether the socket has room for a piece. Over TLS `write` tells.
    static func mayWrite(to wsi: OpaquePointer) -> Bool {
        lws_get_ssl(wsi) != nil || lws_send_pipe_choked(wsi) == 0
    }

    /// - Parameter bytes: at most what a TLS record holds. Up to `LWS_PRE` bytes before them may be overwritten.
    static func write(_ bytes: UnsafeMutableRawBufferPointer, to wsi: OpaquePointer) -> Outcome {
        guard let ssl = lws_get_ssl(wsi) else { return writePlain(bytes, to: wsi) }
        var rest = UnsafeMutableRawBufferPointer(rebasing: bytes[...])
        while !rest.isEmpty {
            ERR_clear_error()  // `SSL_get_error` looks at what is there.
            let count = SSL_write(ssl, rest.baseAddress, Int32(rest.count))
            guard count > 0 else {
                return SSL_get_error(ssl, count) == SSL_ERROR_WANT_WRITE ? .full(unsent: rest.count) : .broken
            }
            // Less than all where the client has asked for small records (RFC 6066 §4).
            rest = UnsafeMutableRawBufferPointer(rebasing: rest[Int(count)...])
        }
        return .written
    }

    /// The socket has room for a whole piece where poll says that it has some; should it not, the connection ends.
    private static func writePlain(_ bytes: UnsafeMutableRawBufferPointer, to wsi: OpaquePointer) -> Outcome {
        let start = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
        let count = lws_write(wsi, start, bytes.count, PORTCULLIS_LWS_WRITE_RAW)
        return count >= 0 && lws_partial_buffered(wsi) == 0 ? .written : .broken
    }
}
