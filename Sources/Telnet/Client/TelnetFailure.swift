/// Why a telnet connection can't go on. Its session must end.
package enum TelnetFailure: Error, Hashable, Sendable {
    /// The compressed stream is corrupt: everything after it is lost.
    case corruptCompression
    /// The stream inflates to more than ``DecompressionLimits/ratio`` allows.
    case compressionRatio
    /// The stream inflates faster than ``DecompressionLimits/bytesPerSecond``.
    case compressionRate
    /// No memory for the decompressor.
    case outOfMemory
}
