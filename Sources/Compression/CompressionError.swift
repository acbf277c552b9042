package enum CompressionError: Error, Hashable, Sendable {
    /// The stream is damaged or not of the given format.
    case corrupt
    case outOfMemory
}
