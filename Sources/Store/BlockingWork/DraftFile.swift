import Glibc

/// A file before it has its name, which only its owner may read and write. It gets the name when all of it is on the
/// disk: no power cut leaves half of a file there. The calls block.
package struct DraftFile: Sendable {
    package let path: String

    /// Creates it. A file that is there already, or a link, is a fault.
    package init(_ path: String) throws(FileFault) {
        self.path = path
        let descriptor = open(path, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .now("\(path) can't be created") }
        defer { close(descriptor) }
        // The process's umask may have removed more permissions than intended.
        guard fchmod(descriptor, 0o600) == 0 else { throw .now("the mode of \(path) can't be set") }
    }

    package func write(_ bytes: [UInt8]) throws(FileFault) {
        let descriptor = open(path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else { throw .now("\(path) can't be opened") }
        defer { close(descriptor) }
        guard Glibc.write(descriptor, bytes, bytes.count) == bytes.count else { throw .now("\(path) can't be written") }
    }

    /// After this, the file survives a power cut under its name.
    ///
    /// - Parameters:
    ///   - target: beside the draft.
    ///   - directory: of both.
    ///   - replacing: whether it takes the place of a file of this name. If not, such a file is a fault:
    ///     ``FileFault/exists``.
    package func publish(as target: String, in directory: String, replacing: Bool) throws(FileFault) {
        // A link, unlike a renaming, doesn't replace a file that has come meanwhile.
        if replacing {
            try replace(target)
        } else {
            try synchronize()
            guard link(path, target) == 0 else {
                throw errno == EEXIST ? .exists : .now("\(target) can't be created")
            }
            remove()
        }
        try Self.synchronize(directory: directory)
    }

    /// After this and a power cut, all of the draft has the name, or the former file still has.
    private func replace(_ target: String) throws(FileFault) {
        try synchronize()
        guard rename(path, target) == 0 else { throw .now("\(target) can't be replaced") }
    }

    private func synchronize() throws(FileFault) {
        let descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else { throw .now("\(path) can't be opened") }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw .now("\(path) can't be synchronized") }
    }

    /// Makes the names of new files durable; without it, a power cut would lose the files.
    package static func synchronize(directory: String) throws(FileFault) {
        let descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .now("the directory \(directory) can't be opened") }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw .now("the directory \(directory) can't be synchronized") }
    }

    /// Of one that isn't published. Another one does nothing.
    package func remove() { unlink(path) }
}

package enum FileFault: Error, Sendable {
    /// A file of this name exists, and isn't to be replaced.
    case exists
    /// In words that an operator can act on.
    case failed(String)

    /// Adds the cause from `errno`.
    static func now(_ text: String) -> FileFault { .failed("\(text): \(String(cString: strerror(errno)))") }

    package var text: String {
        switch self {
        case .exists: "the file exists"
        case .failed(let text): text
        }
    }
}
