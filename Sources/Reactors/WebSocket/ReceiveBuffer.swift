import CLibwebsockets

/// libwebsockets' receive buffer of each WebSocket, which it makes at the upgrade and keeps for good.
///
/// The one figure of the protocol (`rx_buffer_size`) says two things, at two times: how large that buffer is made, and from then on the
/// largest piece of a message that is delivered at once. Pieces never go through the buffer: libwebsockets 4.1.6 reads into memory of its
/// thread and delivers from there, and only control frames, of 125 bytes at most, are collected in the buffer, whose own size it checks. The
/// buffer's size is also how much it asks of the socket first; what OpenSSL has of the same record then comes in one piece. So the
/// figure is small while a buffer is made, and a whole TLS record otherwise. Reactor thread only, as libwebsockets reads it.
enum ReceiveBuffer {
    /// With TLS: a message of so many bytes comes in one piece, the rest of a longer one's record in another.
    static let secureBytes = 1_024
    /// Without TLS the buffer's size is all that one read takes.
    static let plainBytes = 4_096
    static let pieceBytes = 16_384

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
