/// Received bytes of a connection that haven't been consumed.
package struct ByteStream: Sendable {
    private var storage: [UInt8] = []
    private var start = 0
    /// The peer has ended its direction, or the connection is gone: no more bytes will arrive.
    package internal(set) var isAtEnd = false
    /// Why the connection broke, if it did.
    package internal(set) var failure: String?
    package private(set) var totalReceived = 0

    package var unread: ArraySlice<UInt8> { storage[start...] }
    package var count: Int { storage.count - start }

    mutating func append(_ bytes: some Collection<UInt8>) {
        storage.append(contentsOf: bytes)
        totalReceived += bytes.count
    }

    /// Removes and returns the next `count` bytes; nil while there are fewer.
    package mutating func take(_ count: Int) -> [UInt8]? {
        guard self.count >= count else { return nil }
        defer { drop(count) }
        return Array(storage[start..<start + count])
    }

    package mutating func takeAll() -> [UInt8] {
        defer { drop(count) }
        return Array(unread)
    }

    mutating func drop(_ count: Int) {
        start += count
        // Compacts only when half of the storage is consumed: moving a long rest for every few bytes would take longer
        // than receiving it.
        if start == storage.count || start > max(65_536, storage.count / 2) {
            storage.removeFirst(start)
            start = 0
        }
    }
}

extension ByteStream: CustomStringConvertible {
    package var description: String {
        let text = String(decoding: unread.prefix(400), as: UTF8.self)
        return
            "\(count) bytes unread\(isAtEnd ? ", at end" : "")\(failure.map { ", failed: \($0)" } ?? ""): \(text.debugDescription)"
    }
}
