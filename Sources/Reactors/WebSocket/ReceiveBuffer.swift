import CLibwebsockets

/// libwebsockets' receive buffer of each WebSocket, which it makes at the upgrade and keeps for good.
///
/// Messages never go through it: libwebsockets 4.1.6 reads into memory of its thread, as much as the buffer could hold and `LWS_PRE` bytes
/// more, and delivers from there. Only control frames, of 125 bytes at most, are collected in the buffer, whose own size it checks.
///
/// The figure of the protocol (`rx_buffer_size`) says two things at two times: how large a buffer is made, and from then on how much of
/// what has been read is delivered at once. It is small while a buffer is made, and large otherwise: were it the same, every read would be
/// delivered as a piece and a rest of 16 bytes. Reactor thread only, as libwebsockets reads it.
enum ReceiveBuffer {
    /// With TLS: a message of so many bytes comes in one piece, and what else its record holds in one more, which is in OpenSSL's memory
    /// and costs little. Room for what people type, a few lines of it together; a control frame alone would need less than half.
    static let secureBytes = 288
    /// Without TLS each piece is read from the socket.
    static let plainBytes = 4_096
    private static let pieceBytes = 16_384

    static func bytes(isTLS: Bool) -> Int { isTLS ? secureBytes : plainBytes }

    /// Before libwebsockets makes the buffer, in FILTER_PROTOCOL_CONNECTION. What happens between that and ESTABLISHED is one call.
    static func willBeMade(for wsi: OpaquePointer, isTLS: Bool) {
        set(bytes(isTLS: isTLS), on: wsi)
    }

    /// In ESTABLISHED.
    static func wasMade(for wsi: OpaquePointer) {
        set(pieceBytes, on: wsi)
    }

    /// The vhost has its own copy of the protocols, on the heap; the pointer is to `const` for who only uses it.
    private static func set(_ bytes: Int, on wsi: OpaquePointer) {
        guard let made = lws_get_protocol(wsi) else { return }
        UnsafeMutablePointer(mutating: made).pointee.rx_buffer_size = bytes
    }
}
