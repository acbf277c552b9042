import Glibc
import Synchronization

/// A file descriptor that takes whole lines, from any thread: standard error, standard output, or a file opened for
/// appending.
///
/// A line is written with one `write`, which with `O_APPEND` also keeps the lines of several processes apart. If a
/// write stops in the middle (the disk is full), the next line begins with an extra newline, so that the torn line
/// doesn't damage the following one. Writing blocks the caller for as long as the descriptor blocks; a full
/// non-blocking descriptor counts as a failure instead. The process must ignore SIGPIPE.
package final class LineOutput: Sendable {
    private struct State {
        var descriptor: CInt
        /// Whether the last write ended inside a line.
        var isTorn = false
    }

    /// Whether this object opened the descriptor and therefore closes it.
    private let isOwned: Bool
    private let state: Mutex<State>

    package static let standardOutput = LineOutput(descriptor: STDOUT_FILENO)
    package static let standardError = LineOutput(descriptor: STDERR_FILENO)

    /// Whether standard output and standard error lead to the same place: a service manager's journal, a terminal, one
    /// file. Containers have a pipe for each.
    package static var standardStreamsAreOne: Bool { isSame(STDOUT_FILENO, STDERR_FILENO) }

    /// The same file, socket, pipe or terminal.
    static func isSame(_ first: CInt, _ second: CInt) -> Bool {
        var (one, other) = (stat(), stat())
        guard fstat(first, &one) == 0, fstat(second, &other) == 0 else { return false }
        return one.st_dev == other.st_dev && one.st_ino == other.st_ino
    }

    /// A descriptor that the caller opened and closes.
    package init(descriptor: CInt) {
        isOwned = false
        state = Mutex(State(descriptor: descriptor))
    }

    /// Opens a file for appending: created with mode 0600 if it is missing, never truncated.
    package init(appendingTo path: String) throws(LineOutputError) {
        isOwned = true
        state = Mutex(State(descriptor: try Self.open(path)))
    }

    deinit {
        if isOwned { state.withLock { _ = close($0.descriptor) } }
    }

    /// Writes a line, which includes its newline; nil if all of it was written, otherwise the error number.
    package func write(_ line: String) -> CInt? {
        state.withLock { state in
            var text = state.isTorn ? "\n" + line : line
            return text.withUTF8 { bytes in Self.writeAll(UnsafeRawBufferPointer(bytes), to: &state) }
        }
    }

    /// Continues in the file now at `path`, after log rotation has moved the old one away. If the new file can't be
    /// opened, the old one stays in use.
    package func reopen(_ path: String) throws(LineOutputError) {
        let fresh = try Self.open(path)
        let old = state.withLock { state in
            defer { state = State(descriptor: fresh) }
            return state.descriptor
        }
        if isOwned { _ = close(old) }
    }

    private static func open(_ path: String) throws(LineOutputError) -> CInt {
        let descriptor = Glibc.open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw LineOutputError(path: path, errorNumber: errno) }
        return descriptor
    }

    /// Called with the lock held. Continues after an interruption or a short write.
    private static func writeAll(_ bytes: UnsafeRawBufferPointer, to state: inout State) -> CInt? {
        var written = 0
        while written < bytes.count {
            let count = Glibc.write(state.descriptor, bytes.baseAddress.map { $0 + written }, bytes.count - written)
            if count > 0 {
                written += count
            } else if count < 0 && errno == EINTR {
                continue
            } else {
                let failure = count < 0 ? errno : EIO
                if written > 0 { state.isTorn = true }
                return failure
            }
        }
        state.isTorn = false
        return nil
    }
}

/// An output file can't be opened.
package struct LineOutputError: Error, Equatable, CustomStringConvertible {
    package let path: String
    package let errorNumber: CInt

    package init(path: String, errorNumber: CInt) {
        self.path = path
        self.errorNumber = errorNumber
    }

    package var description: String {
        "\(EscapedText(path)): \(String(cString: strerror(errorNumber)))"
    }
}
