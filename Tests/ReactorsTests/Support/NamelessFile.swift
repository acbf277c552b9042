import Glibc

/// A text for code that wants a path: a file that has no name any more, so that nothing is left behind.
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

    /// For this process, and as long as this object lives.
    var path: String { "/proc/self/fd/\(descriptor)" }
}

/// How long anything here may take before it counts as hung. What is about a limit that passes sets its own.
enum Patience {
    static let seconds = 300
    static let milliseconds = seconds * 1_000
}
