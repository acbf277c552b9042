/// Cuts a stream of bytes into lines, in bounded memory: a longer line than any that the gateway writes is skipped and
/// counted.
package struct LineSplitter {
    /// Bytes of a line. The gateway's own have at most 16 KiB.
    package static let maximumLineBytes = 65_536

    private var rest: [UInt8] = []
    private var isSkipping = false
    /// Lines above the limit.
    package private(set) var skipped = 0

    package init() {}

    /// - Parameter body: called for each whole line, without its newline.
    package mutating func add(_ bytes: ArraySlice<UInt8>, _ body: ([UInt8]) -> Void) {
        var bytes = bytes
        while let newline = bytes.firstIndex(of: UInt8(ascii: "\n")) {
            append(bytes[..<newline])
            end(body)
            bytes = bytes[(newline + 1)...]
        }
        append(bytes)
    }

    private mutating func append(_ bytes: ArraySlice<UInt8>) {
        guard !isSkipping else { return }
        guard rest.count + bytes.count > Self.maximumLineBytes else {
            rest += bytes
            return
        }
        (isSkipping, skipped) = (true, skipped + 1)
        rest.removeAll()
    }

    /// The stream has ended; a last line may lack its newline.
    package mutating func finish(_ body: ([UInt8]) -> Void) { end(body) }

    private mutating func end(_ body: ([UInt8]) -> Void) {
        if !isSkipping, !rest.isEmpty { body(rest) }
        isSkipping = false
        rest.removeAll(keepingCapacity: true)
    }
}
