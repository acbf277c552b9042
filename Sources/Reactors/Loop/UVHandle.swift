import CLibuv
import Glibc

/// The libuv handle types that we use: each begins with the fields of `uv_handle_t`.
protocol UVHandle {
    var data: UnsafeMutableRawPointer! { get set }
}

extension uv_async_t: UVHandle {}
extension uv_check_t: UVHandle {}
extension uv_prepare_t: UVHandle {}
extension uv_timer_t: UVHandle {}
extension uv_poll_t: UVHandle {}
extension uv_tcp_t: UVHandle {}

/// libuv refuses these calls only for wrong arguments or no memory: both are bugs of ours, never a peer's doing.
func checkUV(_ code: Int32, _ call: StaticString) {
    precondition(code == 0, "\(call): \(uvErrorText(code))")
}

/// libuv's own words for an error code, for logs.
func uvErrorText(_ code: Int32) -> String {
    String(cString: uv_strerror(code))
}

/// Closes a handle that no object owns, and frees its memory when libuv has let go of it.
func closeHandle<Handle: UVHandle>(_ handle: UnsafeMutablePointer<Handle>) {
    handle.withMemoryRebound(to: uv_handle_t.self, capacity: 1) { handle in
        uv_close(handle) { free($0) }
    }
}

/// Closes a handle whose `data` holds a +1 reference to its owner; the reference goes when libuv has let go of it.
///
/// The retain stands in the owner's initializer.
func closeOwnedHandle<Handle: UVHandle>(_ handle: UnsafeMutablePointer<Handle>) {
    handle.withMemoryRebound(to: uv_handle_t.self, capacity: 1) { handle in
        uv_close(handle) { closed in
            Unmanaged<AnyObject>.fromOpaque(closed!.pointee.data).release()
            free(closed)
        }
    }
}

/// Memory for a handle; `malloc`, so that the closing callbacks can free it whatever its type.
func allocateHandle<Handle: UVHandle>(_ type: Handle.Type) -> UnsafeMutablePointer<Handle> {
    guard let memory = calloc(1, MemoryLayout<Handle>.size) else { fatalError("out of memory") }
    return memory.bindMemory(to: Handle.self, capacity: 1)
}
