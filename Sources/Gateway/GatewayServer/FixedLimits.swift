/// What no operator has to choose: the gateway's values for parts that leave the choice to their user.
enum FixedLimits {
    /// Connections of one address to the internal listener, if other machines can reach it; above it they are closed.
    static let internalConnectionsPerAddress = 64
    /// The largest window of either side of a compressed WebSocket, as a power of 2. For clients that don't support a
    /// smaller one it is 15.
    static let compressionWindowBits = 12
    /// Memory for the windows of one WebSocket; they are made smaller until they fit.
    static let compressionSessionBytes = 98_304
    /// Shorter messages to clients are sent uncompressed.
    static let compressedBytes = 64
    /// zlib's compression level.
    static let compressionLevel = 6
}
