/// The gateway's settings for permessage-deflate.
package struct DeflateSettings: Hashable, Sendable {
    /// zlib can't create a raw stream with an 8-bit window.
    package static let windowBits = 9...15

    package var isOn: Bool
    /// The maximum windows. A client may request smaller ones, and low memory may reduce them.
    package var serverWindowBits: Int
    package var clientWindowBits: Int
    /// Whether windows are kept between messages. This compresses short messages far better, but costs memory.
    package var serverKeepsContext: Bool
    package var clientKeepsContext: Bool
    /// Shorter messages of ours are sent uncompressed.
    package var minimumBytes: Int
    /// zlib's level: 1 is fastest, 9 smallest.
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
