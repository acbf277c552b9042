/// What a message may cost (RFC 6455 §10.4).
package struct MessageLimits: Hashable, Sendable {
    /// Of a message's payload, inflated where it is compressed.
    package var messageBytes: Int
    /// Frames of one message. Each costs its header on the wire, but nothing of `messageBytes` if it is empty.
    package var fragments: Int
    /// Frames of one message, other than its last, that have no payload.
    package var emptyFragments: Int
    /// A compressed message may inflate to so many bytes whatever its size, ...
    package var freeExpansionBytes: Int
    /// ... and beyond that to so many times its size. DEFLATE reaches 1032.
    package var expansionRatio: Int

    package init(
        messageBytes: Int = 65_536, fragments: Int = 131_072, emptyFragments: Int = 16,
        freeExpansionBytes: Int = 65_536, expansionRatio: Int = 200
    ) {
        precondition(messageBytes >= 0 && fragments > 0 && emptyFragments >= 0)
        precondition(freeExpansionBytes >= 0 && expansionRatio > 0)
        self.messageBytes = messageBytes
        self.fragments = fragments
        self.emptyFragments = emptyFragments
        self.freeExpansionBytes = freeExpansionBytes
        self.expansionRatio = expansionRatio
    }

    /// Of a message's compressed payload: as much as a compressor may make of `messageBytes` that don't compress. So empty DEFLATE blocks
    /// can't go on for ever either.
    package var compressedBytes: Int {
        let bytes = min(messageBytes, Int.max / 2)
        return bytes + bytes / 8 + bytes / 64 + 64
    }
}
