package enum CompressionError: Error, Hashable, Sendable {
    /// The stream isn't of the format that was named, or damaged.
    case corrupt
    case outOfMemory
}
