import Glibc

/// A text file for code that needs a path. The file is already unlinked, so nothing is left behind.
final class NamelessFile: Sendable {
    private let descriptor: Int32

    init(_ text: String) {
        var name = Array("/tmp/portcullis-reactors-XXXXXX".utf8CString)
        descriptor = mkstemp(&name)
        unlink(name)
        let bytes = Array(text.utf8)
        guard descriptor >= 0, write(descriptor, bytes, bytes.count) == bytes.count else {
            fatalError("no temporary file")
        }
    }

    deinit { close(descriptor) }

    /// Valid for this process, as long as this object lives.
    var path: String { "/proc/self/fd/\(descriptor)" }
}

/// The time after which a test counts as hung. Tests of a timeout set their own limit.
enum Patience {
    static let seconds = 300
    static let milliseconds = seconds * 1_000
}
