import Glibc

/// A file of a few bytes that is read and replaced as a whole. It has one writer. The calls block.
package struct SmallFile: Sendable {
    package let path: String
    private let directory: String

    package init(_ name: String, in directory: String) {
        self.directory = directory
        path = directory + "/" + name
    }

    /// - Parameter maximum: a longer file is cut off one byte after it, so that the caller sees that it is longer.
    /// - Returns: nil if there is none.
    package func read(maximum: Int) throws(FileFault) -> [UInt8]? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        if descriptor < 0, errno == ENOENT { return nil }
        guard descriptor >= 0 else { throw .now("\(path) can't be read") }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: maximum + 1)
        let count = pread(descriptor, &bytes, bytes.count, 0)
        guard count >= 0 else { throw .now("\(path) can't be read") }
        return Array(bytes.prefix(count))
    }

    /// After this, the new content survives a power cut. After a fault the old one is there,
    /// or the new one if only the directory couldn't wait for the disk.
    package func replace(with bytes: [UInt8]) throws(FileFault) {
        let new = path + ".new"
        // Of a process that has ended in between.
        unlink(new)
        let draft = try DraftFile(new)
        do throws(FileFault) {
            try draft.write(bytes)
            try draft.publish(as: path, in: directory, replacing: true)
        } catch {
            draft.remove()
            throw error
        }
    }
}
