import COpenSSL

/// A BIO that connects OpenSSL to a `TLSEngine`'s memory instead of a network.
///
/// It replaces OpenSSL's own memory BIO: it reads directly from the reactor's read buffer and writes directly into the
/// connection's output, so a session needs no buffers for it.
///
/// - Note: `@unchecked Sendable` because the method table isn't changed after `init`.
final class TLSMemoryBIO: @unchecked Sendable {
    private let method: OpaquePointer

    init?() {
        guard let method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "portcullis") else { return nil }
        self.method = method
        BIO_meth_set_read(method) { bio, bytes, count in
            session(of: bio).bioRead(bio, UnsafeMutableRawBufferPointer(start: bytes, count: Int(count)))
        }
        BIO_meth_set_write(method) { bio, bytes, count in
            session(of: bio).bioWrite(UnsafeRawBufferPointer(start: bytes, count: Int(count)))
        }
        // A flush is a no-op; all other commands are unsupported.
        BIO_meth_set_ctrl(method) { _, command, _, _ in command == BIO_CTRL_FLUSH ? 1 : 0 }
    }

    deinit { BIO_meth_free(method) }

    /// Gives `ssl` a BIO, which `ssl` owns. The session is unretained: it frees `ssl`, and the BIO with it, before it
    /// is released.
    func attach(to ssl: OpaquePointer, of session: TLSEngine) -> Bool {
        guard let bio = BIO_new(method) else { return false }
        BIO_set_data(bio, Unmanaged.passUnretained(session).toOpaque())
        BIO_set_init(bio, 1)
        SSL_set_bio(ssl, bio, bio)  // One reference serves both directions.
        return true
    }
}

private func session(of bio: OpaquePointer?) -> TLSEngine {
    Unmanaged<TLSEngine>.fromOpaque(BIO_get_data(bio)).takeUnretainedValue()
}
