/// What the gateway wants of permessage-deflate.
package struct DeflateSettings: Hashable, Sendable {
    /// zlib makes no raw stream for a window of 8 bits.
    package static let windowBits = 9...15

    package var isOn: Bool
    /// The largest windows. A client may ask for smaller ones, and memory may make them smaller.
    package var serverWindowBits: Int
    package var clientWindowBits: Int
    /// Whether windows live from one message to the next. It compresses short messages far better, and costs the memory.
    package var serverKeepsContext: Bool
    package var clientKeepsContext: Bool
    /// Messages of ours that are shorter are sent as they are.
    package var minimumBytes: Int
    /// zlib's: 1 is fastest, 9 smallest.
    package var level: Int

    package init(
        isOn: Bool = true, serverWindowBits: Int = 12, clientWindowBits: Int = 12, serverKeepsContext: Bool = true,
        clientKeepsContext: Bool = true, minimumBytes: Int = 64, level: Int = 6
    ) {
        precondition(Self.windowBits.contains(serverWindowBits) && Self.windowBits.contains(clientWindowBits))
        precondition(minimumBytes >= 0 && (1...9).contains(level))
        self.isOn = isOn
        self.serverWindowBits = serverWindowBits
        self.clientWindowBits = clientWindowBits
        self.serverKeepsContext = serverKeepsContext
        self.clientKeepsContext = clientKeepsContext
        self.minimumBytes = minimumBytes
        self.level = level
    }
}
