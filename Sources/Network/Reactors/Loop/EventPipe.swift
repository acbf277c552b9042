import CLibuv
import CLibwebsockets
import Glibc

/// The eventfd that wakes a libwebsockets context on libuv, while the context is destroyed.
///
/// libwebsockets 4.1.6 closes this descriptor in `lws_context_destroy` and again one turn of the loop later, when
/// another thread may have been given the number. In between, `occupy()` holds the number with a socket of its own, so
/// that the second close meets that socket.
///
/// On the reactor's thread.
final class EventPipe {
    private let handle: UnsafeMutablePointer<uv_handle_t>
    private let descriptor: Int32
    private var placeholder: FileIdentity?

    /// - Returns: nil if the loop polls no eventfd. Before the context is destroyed.
    init?(of loop: UnsafeMutablePointer<uv_loop_t>) {
        var found: (UnsafeMutablePointer<uv_handle_t>, Int32)?
        withUnsafeMutablePointer(to: &found) { found in
            uv_walk(
                loop,
                { handle, found in
                    guard let handle, let descriptor = EventPipe.descriptor(of: handle) else { return }
                    found?.assumingMemoryBound(to: (UnsafeMutablePointer<uv_handle_t>, Int32)?.self).pointee = (
                        handle, descriptor
                    )
                }, found)
        }
        guard let found else { return nil }
        (handle, descriptor) = found
    }

    /// Directly after `lws_context_destroy`. If another thread already has the number, the handle's close callback,
    /// which would close it, is left out, and this turn is the loop's last: the context would wait for the callback for
    /// ever. Its memory is then never freed.
    func occupy() {
        let own = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        defer { if own >= 0, own != descriptor { close(own) } }
        let copy = own == descriptor ? own : fcntl(own, F_DUPFD_CLOEXEC, descriptor)
        guard copy == descriptor else {
            if copy >= 0 { close(copy) }
            return leaveOut()
        }
        placeholder = FileIdentity(descriptor)
    }

    /// When the loop has ended: closes the placeholder if libwebsockets hasn't.
    func release() {
        if let placeholder, FileIdentity(descriptor) == placeholder { close(descriptor) }
    }

    private func leaveOut() {
        handle.pointee.close_cb = { _ in }
        uv_stop(handle.pointee.loop)
    }

    private static func descriptor(of handle: UnsafeMutablePointer<uv_handle_t>) -> Int32? {
        var descriptor: Int32 = -1
        guard uv_handle_get_type(handle) == UV_POLL, uv_fileno(handle, &descriptor) == 0 else { return nil }
        var target = [CChar](repeating: 0, count: 64)
        guard readlink("/proc/self/fd/\(descriptor)", &target, target.count - 1) > 0 else { return nil }
        return strcmp(target, "anon_inode:[eventfd]") == 0 ? descriptor : nil
    }

    /// Distinguishes the placeholder, a socket, from all other open files.
    private struct FileIdentity: Equatable {
        let device, inode: UInt

        init?(_ descriptor: Int32) {
            var status = stat()
            guard fstat(descriptor, &status) == 0 else { return nil }
            (device, inode) = (UInt(status.st_dev), UInt(status.st_ino))
        }
    }
}
