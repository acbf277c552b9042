import CLibuv
import Glibc

/// The libuv handle types in use: each begins with the fields of `uv_handle_t`.
protocol UVHandle {
    var data: UnsafeMutableRawPointer! { get set }
}

extension uv_async_t: UVHandle {}
extension uv_check_t: UVHandle {}
extension uv_prepare_t: UVHandle {}
extension uv_timer_t: UVHandle {}
extension uv_poll_t: UVHandle {}
extension uv_tcp_t: UVHandle {}

/// libuv fails these calls only for invalid arguments or lack of memory. Both are bugs of ours, never caused by a peer.
func checkUV(_ code: Int32, _ call: StaticString) {
    precondition(code == 0, "\(call): \(uvErrorText(code))")
}

/// libuv's text for an error code, for logs.
func uvErrorText(_ code: Int32) -> String {
    String(cString: uv_strerror(code))
}

/// Closes a handle without an owner, and frees its memory when libuv has released it.
func closeHandle<Handle: UVHandle>(_ handle: UnsafeMutablePointer<Handle>) {
    handle.withMemoryRebound(to: uv_handle_t.self, capacity: 1) { handle in
        uv_close(handle) { free($0) }
    }
}

/// Closes a handle whose `data` holds a +1 reference to its owner. The reference is released when libuv has released
/// the handle.
///
/// The owner's initializer retains it.
func closeOwnedHandle<Handle: UVHandle>(_ handle: UnsafeMutablePointer<Handle>) {
    handle.withMemoryRebound(to: uv_handle_t.self, capacity: 1) { handle in
        uv_close(handle) { closed in
            Unmanaged<AnyObject>.fromOpaque(closed!.pointee.data).release()
            free(closed)
        }
    }
}

/// Memory for a handle, from the C allocator, so that the close callbacks can free it whatever its type.
func allocateHandle<Handle: UVHandle>(_ type: Handle.Type) -> UnsafeMutablePointer<Handle> {
    guard let memory = calloc(1, MemoryLayout<Handle>.size) else { fatalError("out of memory") }
    return memory.bindMemory(to: Handle.self, capacity: 1)
}
