import Glibc

/// When a file was made. It keeps this when it is written, linked, or moved within its file system; a copy has another
/// one. Linux has no call that sets it, but some file systems have a way of their own (NTFS, SMB).
struct FileBirth: Equatable {
    /// Where the file system or the kernel knows none.
    static let unknown = FileBirth(seconds: 0, nanoseconds: 0)

    let seconds: Int64
    let nanoseconds: Int64

    /// Whether a file that says one birth time and has another is a copy. Some file systems drop the nanoseconds when
    /// they write an inode to the disk.
    static func isOfCopy(saying said: FileBirth, having known: FileBirth) -> Bool {
        guard said != unknown, known != unknown else { return false }
        return said.seconds != known.seconds || (said.nanoseconds != known.nanoseconds && known.nanoseconds != 0)
    }

    init(seconds: Int64, nanoseconds: Int64) { (self.seconds, self.nanoseconds) = (seconds, nanoseconds) }

    /// Of an open file.
    init(of descriptor: Int32) {
        var found = [UInt8](repeating: 0, count: Layout.bytes)
        guard let statx = Self.statx, statx(descriptor, "", Layout.emptyPath, Layout.birth, &found) == 0 else {
            self = .unknown
            return
        }
        self = found.withUnsafeBytes { found in
            guard found.loadUnaligned(as: UInt32.self) & Layout.birth != 0 else { return .unknown }
            return FileBirth(
                seconds: found.loadUnaligned(fromByteOffset: Layout.seconds, as: Int64.self),
                nanoseconds: Int64(found.loadUnaligned(fromByteOffset: Layout.nanoseconds, as: UInt32.self)))
        }
    }

    /// Of `struct statx` in linux/stat.h, the same on all architectures.
    private enum Layout {
        static let bytes = 256
        /// `stx_btime.tv_sec`; `stx_mask` is at 0.
        static let seconds = 80
        /// `stx_btime.tv_nsec`
        static let nanoseconds = 88
        /// `STATX_BTIME`
        static let birth: UInt32 = 0x800
        /// `AT_EMPTY_PATH`
        static let emptyPath: Int32 = 0x1000
    }

    private typealias Statx =
        @convention(c) (Int32, UnsafePointer<CChar>, Int32, UInt32, UnsafeMutableRawPointer) -> Int32

    // glibc has it, but Swift's module of it doesn't show it.
    private static let statx = dlsym(nil, "statx").map { unsafeBitCast($0, to: Statx.self) }
}
