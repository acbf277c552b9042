import CLibwebsockets
import Glibc

/// The process that has made a channel, and whether it has ended.
///
/// The end of the channel alone doesn't say that: a process may have closed it and go on. What counts is the process
/// itself, by a descriptor (pidfd_open(2)) that never means a later process of the same number. Where the kernel
/// doesn't say it, the process counts as alive.
package final class OtherProcess: Sendable {
    private let descriptor: Int32
    /// It was gone before it could be looked for.
    private let isGone: Bool

    package init(madeBy channel: HandoverChannel) {
        guard let id = channel.maker else {
            (descriptor, isGone) = (-1, false)
            return
        }
        descriptor = portcullis_pidfd_open(id)
        isGone = descriptor < 0 && errno == ESRCH
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// Waits for its end, at which the kernel has closed its files: it reads from no socket any more.
    package func ends(within milliseconds: Int32) -> Bool {
        guard descriptor >= 0 else { return isGone }
        var look = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        while true {
            let count = poll(&look, 1, milliseconds)
            if count < 0, errno == EINTR { continue }
            return count == 1 && look.revents & Int16(POLLIN) != 0
        }
    }
}
