package import Telnet

/// What an operator is told of a target whose compressed stream has ended its session: in the log, in the audit log and so in `explain`.
/// A game that compresses wrongly is played uncompressed.
extension TelnetFailure {
    package var remark: String { "\(cause); mccp=off for its route, or MUD_MCCP=off, has the target send uncompressed" }

    private var cause: String {
        switch self {
        case .corruptCompression: "the compressed stream (MCCP2) of the target is corrupt"
        case .compressionRatio:
            "the compressed stream (MCCP2) of the target expands more than MAX_COMPRESSION_RATIO allows"
        case .compressionRate:
            "the compressed stream (MCCP2) of the target inflates faster than MAX_INFLATED_BYTES_PER_SECOND allows"
        case .outOfMemory: "there was no memory to inflate the compressed stream (MCCP2) of the target"
        }
    }
}
