import CLibwebsockets
import Synchronization

/// Creates and destroys libwebsockets contexts.
enum LWSContext {
    /// {makeLock} In libwebsockets 4.1.6 each context that initializes TLS replaces a process-wide index. Contexts are therefore created
    /// one after another, all of them before any accepts.
    private static let makeLock = Mutex(())

    /// Creates a context on the reactor's own loop, without a vhost. On the reactor's thread.
    static func make(for reactor: Reactor) -> OpaquePointer? {
        LibwebsocketsLog.install()
        return makeLock.withLock { _ in
            var loops: [UnsafeMutableRawPointer?] = [UnsafeMutableRawPointer(reactor.loop)]
            return loops.withUnsafeMutableBufferPointer { loops in
                var info = lws_context_creation_info()
                info.options =
                    PORTCULLIS_LWS_OPTION_LIBUV | PORTCULLIS_LWS_OPTION_EXPLICIT_VHOSTS
                    | PORTCULLIS_LWS_OPTION_SSL_GLOBAL_INIT | PORTCULLIS_LWS_OPTION_NO_SIGNAL_SPIN
                info.foreign_loops = loops.baseAddress
                info.user = Unmanaged.passUnretained(reactor).toOpaque()  // The reactor destroys the context.
                // The size of a whole TLS record. After a shorter read 4.1.6 might not ask for the rest that TLS holds until more arrives.
                info.pt_serv_buf_size = UInt32(LWSContext.serviceBufferBytes)
                info.timeout_secs = reactor.backstopSeconds
                return lws_create_context(&info)
            }
        }
    }

    /// One buffer per reactor; a TLS record has up to 16 KiB of payload.
    static let serviceBufferBytes = 17_408

    static func destroy(_ context: OpaquePointer) {
        lws_context_destroy(context)
    }
}
