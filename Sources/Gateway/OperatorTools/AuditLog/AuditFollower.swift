import AuditTrail
import Glibc

/// Reads what is appended to a log, through rotations: by renaming (another file has the name) and by copying and
/// truncating (the file becomes shorter).
///
/// After a rename the gateway writes to the old file until it is told to reopen its log. So the old file is read until
/// the new one has something in it, and then once more to its end.
package final class AuditFollower {
    private let path: String
    private var current: OpenFile?
    private var next: OpenFile?

    /// - Parameter fromStart: false begins behind what is in the file now.
    package init(path: String, fromStart: Bool = false) {
        self.path = path
        current = OpenFile(path)
        if !fromStart { current?.skipToEnd() }
    }

    /// Reads what has come since the last call.
    package func poll(_ body: ([UInt8]) -> Void) {
        guard current != nil else {
            current = OpenFile(path)
            current?.read(body)
            return
        }
        if next == nil, current?.isStill(at: path) == false { next = OpenFile(path) }
        current?.read(body)
        guard let next, next.hasContent else { return }
        // The gateway writes to the new file from now on; nothing comes to the old one any more.
        current?.read(body)
        current?.finish(body)
        (current, self.next) = (next, nil)
        current?.read(body)
    }

    private final class OpenFile {
        private let descriptor: CInt
        private let status: stat
        private var position: off_t = 0
        private var lines = LineSplitter()

        init?(_ path: String) {
            descriptor = open(path, O_RDONLY | O_CLOEXEC)
            var status = stat()
            guard descriptor >= 0, fstat(descriptor, &status) == 0 else {
                if descriptor >= 0 { close(descriptor) }
                return nil
            }
            self.status = status
        }

        deinit { close(descriptor) }

        private var size: off_t {
            var now = stat()
            return fstat(descriptor, &now) == 0 ? now.st_size : 0
        }

        var hasContent: Bool { size > 0 }

        func skipToEnd() { position = lseek(descriptor, 0, SEEK_END) }

        /// While no file has the name, the rotation isn't over.
        func isStill(at path: String) -> Bool {
            var now = stat()
            guard stat(path, &now) == 0 else { return true }
            return now.st_dev == status.st_dev && now.st_ino == status.st_ino
        }

        func read(_ body: ([UInt8]) -> Void) {
            if size < position {
                // Truncated: what there is begins anew.
                position = lseek(descriptor, 0, SEEK_SET)
                lines = LineSplitter()
            }
            while let piece = try? AuditFile.next(descriptor, ""), !piece.isEmpty {
                position += off_t(piece.count)
                lines.add(piece[...], body)
            }
        }

        func finish(_ body: ([UInt8]) -> Void) { lines.finish(body) }
    }
}
