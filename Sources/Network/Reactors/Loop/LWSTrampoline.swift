import CLibwebsockets
import Glibc
import Synchronization

/// The only callback that libwebsockets calls. It decides nothing: it recovers the object and calls one method.
///
/// Ownership: the context's user pointer is the reactor, unretained, because the reactor destroys the context. A
/// `wsi`'s opaque pointer is its `LWSOwner` (an `EdgeConnection`, or a connection of an `EdgeClient`), retained at
/// adoption and released at WSI_DESTROY.
///
/// - Returns: 0 to continue, -1 to close the connection.
func lwsTrampoline(
    _ wsi: OpaquePointer?, _ reason: lws_callback_reasons, _ user: UnsafeMutableRawPointer?,
    _ input: UnsafeMutableRawPointer?, _ length: Int
) -> Int32 {
    guard let wsi, !isPollBookkeeping(reason) else { return 0 }
    if reason == LWS_CALLBACK_OPENSSL_LOAD_EXTRA_SERVER_VERIFY_CERTS {
        // Called with a placeholder wsi that has only its context; `user` is the SSL_CTX.
        guard let reactor = lws_context_user(lws_get_context(wsi)), let user else { return 0 }
        Unmanaged<Reactor>.fromOpaque(reactor).takeUnretainedValue().configureTLS?(OpaquePointer(user))
        return 0
    }
    if reason == LWS_CALLBACK_WSI_CREATE {
        // Called before the opaque pointer is set. It tells the adopter that WSI_DESTROY will be called too.
        guard let reactor = lws_context_user(lws_get_context(wsi)) else { return 0 }
        Unmanaged<Reactor>.fromOpaque(reactor).takeUnretainedValue().hasCreatedWSI = true
        return 0
    }
    guard let opaque = lws_get_opaque_user_data(wsi) else { return lwsUnownedResult(reason) }
    let owner = Unmanaged<LWSOwner>.fromOpaque(opaque).takeUnretainedValue()
    let result = owner.entered(wsi) {
        owner.callback(reason, UnsafeMutableRawBufferPointer(start: input, count: input == nil ? 0 : length))
    }
    if reason == LWS_CALLBACK_WSI_DESTROY {
        owner.wsi = nil
        lws_set_opaque_user_data(wsi, nil)
        // Retained in EdgeConnection.adopt or EdgeClient.dial.
        Unmanaged<LWSOwner>.fromOpaque(opaque).release()
    }
    return result
}

/// Calls that libwebsockets makes for an application with a poll loop of its own, if it is built for one: Debian 13's
/// 4.3.5 is, Debian 12's 4.1.6 isn't. libuv polls here, so they never reach the owner, and the answer is always 0.
///
/// They aren't events, and -1 doesn't close the connection. If LOCK_POLL is refused while libwebsockets closes a
/// connection, its tables keep the wsi, which is freed then, under a descriptor that is closed. The next connection
/// with that descriptor aborts the process.
private func isPollBookkeeping(_ reason: lws_callback_reasons) -> Bool {
    switch reason {
    case LWS_CALLBACK_LOCK_POLL, LWS_CALLBACK_UNLOCK_POLL, LWS_CALLBACK_ADD_POLL_FD, LWS_CALLBACK_DEL_POLL_FD,
        LWS_CALLBACK_CHANGE_MODE_POLL_FD, LWS_CALLBACK_GET_THREAD_ID:
        true
    default: false
    }
}

/// A wsi without an owner was not adopted by us or is already torn down: it is not served.
private func lwsUnownedResult(_ reason: lws_callback_reasons) -> Int32 {
    switch reason {
    case LWS_CALLBACK_HTTP, LWS_CALLBACK_HTTP_CONFIRM_UPGRADE, LWS_CALLBACK_FILTER_PROTOCOL_CONNECTION,
        LWS_CALLBACK_ESTABLISHED, LWS_CALLBACK_RECEIVE, LWS_CALLBACK_RAW_RX:
        -1
    default: 0
    }
}

/// The object behind a wsi's opaque pointer.
///
/// Confined to its reactor's thread.
class LWSOwner {
    let reactor: Reactor
    /// Nil before adoption and after WSI_DESTROY.
    var wsi: OpaquePointer?
    /// libwebsockets knows this owner, so it calls WSI_DESTROY at the end.
    private(set) var hasBeenCalled = false
    /// The number of libwebsockets callbacks for this wsi on the stack. Inside one, the connection is closed by
    /// returning -1.
    private var depth = 0
    /// `kill` was called: all further work for it stops.
    private(set) var isDoomed = false

    init(reactor: Reactor) {
        self.reactor = reactor
    }

    /// - Parameter input: libwebsockets' memory, valid during the call.
    func callback(_ reason: lws_callback_reasons, _ input: UnsafeMutableRawBufferPointer) -> Int32 {
        preconditionFailure("overridden by every owner")
    }

    fileprivate func entered(_ wsi: OpaquePointer, _ body: () -> Int32) -> Int32 {
        self.wsi = wsi
        hasBeenCalled = true
        depth += 1
        let result = body()
        depth -= 1
        return isDoomed && depth == 0 ? -1 : result
    }

    /// Closes the connection immediately, or when the current callback returns.
    func kill() {
        guard let wsi, !isDoomed else { return }
        isDoomed = true
        // If libwebsockets holds back output it would flush that first, and 4.1.6 spins forever if TLS has input
        // waiting in that state. So reading is turned off, and the shutdown prevents writes.
        lws_rx_flow_control(wsi, 0)
        shutdown(lws_get_socket_fd(wsi), Int32(SHUT_RDWR))
        if depth == 0 {
            lws_set_timeout(wsi, PENDING_TIMEOUT_USER_OK, LWS_TO_KILL_SYNC)
        }
    }
}

/// Creates and destroys libwebsockets contexts.
enum LWSContext {
    /// In libwebsockets 4.1.6 each context that initializes TLS replaces a process-wide index. Contexts are therefore
    /// created one after another, all of them before any accepts.
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
                // The size of a whole TLS record. After a shorter read 4.1.6 might not ask for the rest that TLS holds
                // until more arrives.
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
