/// Limits on the cost of a message (RFC 6455 §10.4).
package struct MessageLimits: Hashable, Sendable {
    /// The maximum payload of a message, after inflation if it is compressed.
    package var messageBytes: Int
    /// The maximum number of frames of one message. An empty frame costs its header on the wire, but doesn't count
    /// toward `messageBytes`.
    package var fragments: Int
    /// The maximum number of empty frames of one message, not counting its last.
    package var emptyFragments: Int
    /// A compressed message may always inflate to this many bytes, ...
    package var freeExpansionBytes: Int
    /// ... and beyond that to this many times its size. DEFLATE reaches 1032.
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

    /// The maximum compressed payload of a message: as much as a compressor may produce from `messageBytes`
    /// incompressible bytes. This also bounds endless empty DEFLATE blocks.
    package var compressedBytes: Int {
        let bytes = min(messageBytes, Int.max / 2)
        return bytes + bytes / 8 + bytes / 64 + 64
    }
}
