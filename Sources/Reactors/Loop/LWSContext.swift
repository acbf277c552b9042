import CLibwebsockets
import Synchronization

/// libwebsockets contexts: how they are made and unmade.
enum LWSContext {
    /// {makeLock} Each context that initializes TLS replaces a process-wide index (libwebsockets 4.1.6), so they are made one
    /// after another, and all of a process before any of them accepts.
    private static let makeLock = Mutex(())

    /// A context on the reactor's own loop, with no vhost yet. On the reactor's thread.
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
                // A whole TLS record: what TLS still held after a shorter read, 4.1.6 might not ask for before more arrives.
                info.pt_serv_buf_size = UInt32(LWSContext.serviceBufferBytes)
                info.timeout_secs = reactor.backstopSeconds
                return lws_create_context(&info)
            }
        }
    }

    /// One a reactor; a TLS record has 16 KiB of payload.
    static let serviceBufferBytes = 17_408

    static func destroy(_ context: OpaquePointer) {
        lws_context_destroy(context)
    }
}
