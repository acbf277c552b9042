import CLibwebsockets
import COpenSSL

/// Writes to a client's socket. Reactor thread only.
///
/// Over TLS it calls OpenSSL itself. `lws_write` would hold back bytes that the socket doesn't take; if libwebsockets
/// 4.1.6 then closes the connection while TLS has input waiting, it spins forever. A TLS write reports a full socket
/// itself, so no check is needed before it.
enum EdgeOutput {
    enum Outcome {
        case written
        /// The socket has no room for the last `unsent` bytes. Their TLS record is already made, so exactly these bytes
        /// must be passed again.
        case full(unsent: Int)
        case broken
    }

    /// Without TLS: whether the socket has room for a piece. Over TLS `write` reports that.
    static func mayWrite(to wsi: OpaquePointer) -> Bool {
        lws_get_ssl(wsi) != nil || lws_send_pipe_choked(wsi) == 0
    }

    /// - Parameter bytes: at most the payload of a TLS record. Up to `LWS_PRE` bytes before them may be overwritten.
    static func write(_ bytes: UnsafeMutableRawBufferPointer, to wsi: OpaquePointer) -> Outcome {
        guard let ssl = lws_get_ssl(wsi) else { return writePlain(bytes, to: wsi) }
        var rest = UnsafeMutableRawBufferPointer(rebasing: bytes[...])
        while !rest.isEmpty {
            ERR_clear_error()  // `SSL_get_error` inspects the error queue.
            let count = SSL_write(ssl, rest.baseAddress, Int32(rest.count))
            guard count > 0 else {
                return SSL_get_error(ssl, count) == SSL_ERROR_WANT_WRITE ? .full(unsent: rest.count) : .broken
            }
            // OpenSSL writes less than all if the client negotiated small records (RFC 6066 §4).
            rest = UnsafeMutableRawBufferPointer(rebasing: rest[Int(count)...])
        }
        return .written
    }

    /// A socket that poll reports as writable has room for a whole piece. If it hasn't, the connection ends.
    private static func writePlain(_ bytes: UnsafeMutableRawBufferPointer, to wsi: OpaquePointer) -> Outcome {
        let start = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
        let count = lws_write(wsi, start, bytes.count, PORTCULLIS_LWS_WRITE_RAW)
        return count >= 0 && lws_partial_buffered(wsi) == 0 ? .written : .broken
    }
}
