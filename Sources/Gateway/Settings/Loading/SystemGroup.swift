import Glibc

/// The groups of this machine, and those of this process.
enum SystemGroup {
    /// Bytes; room for a group with thousands of members.
    private static let bufferBytes = 262_144

    static func number(of name: String) -> UInt32? {
        var entry = group()
        var found: UnsafeMutablePointer<group>?
        var buffer = [CChar](repeating: 0, count: bufferBytes)
        guard getgrnam_r(name, &entry, &buffer, buffer.count, &found) == 0, found != nil else { return nil }
        return entry.gr_gid
    }

    /// Whether this process may give a file to the group.
    static func isOwn(_ group: UInt32) -> Bool {
        if geteuid() == 0 || getegid() == group { return true }
        let count = getgroups(0, nil)
        guard count > 0 else { return false }
        var groups = [gid_t](repeating: 0, count: Int(count))
        guard getgroups(count, &groups) == count else { return false }
        return groups.contains(group)
    }
}
