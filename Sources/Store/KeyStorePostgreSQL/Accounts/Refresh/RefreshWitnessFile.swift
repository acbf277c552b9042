import Glibc

/// Where a gateway keeps its witness over restarts: a small file in the folder of its state. It is replaced as a whole,
/// so that no power cut leaves half of it. The calls block.
struct RefreshWitnessFile: Sendable {
    static let name = "refresh-witness"

    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    let path: String

    init(in directory: String) { path = directory + "/" + Self.name }

    /// Nil: there is none.
    func read() throws(Failure) -> RefreshWitness? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        if descriptor < 0, errno == ENOENT { return nil }
        guard descriptor >= 0 else { throw failure("can't be read") }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: RefreshWitness.maximumBytes + 1)
        let count = pread(descriptor, &bytes, bytes.count, 0)
        guard count >= 0 else { throw failure("can't be read") }
        guard let witness = RefreshWitness(encoded: Array(bytes.prefix(count))) else {
            throw Failure(description: "\(path) is malformed: it counts as none, and will be replaced")
        }
        return witness
    }

    func write(_ witness: RefreshWitness) throws(Failure) {
        let new = path + ".new"
        unlink(new)
        try write(witness.encoded, to: new)
        guard rename(new, path) == 0 else { throw failure("can't be replaced") }
        try synchronizeDirectory()
    }

    private func write(_ bytes: [UInt8], to path: String) throws(Failure) {
        let descriptor = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw failure("can't be written") }
        defer { close(descriptor) }
        guard Glibc.write(descriptor, bytes, bytes.count) == bytes.count, fsync(descriptor) == 0 else {
            throw failure("can't be written")
        }
    }

    private func synchronizeDirectory() throws(Failure) {
        let directory = String(path.dropLast(Self.name.count))
        let descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure("is in a folder that can't be opened") }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw failure("is in a folder that can't be synchronized") }
    }

    private func failure(_ problem: String) -> Failure {
        Failure(description: "\(path) \(problem): \(String(cString: strerror(errno)))")
    }
}
