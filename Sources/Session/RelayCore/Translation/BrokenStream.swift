package import Telnet

/// What an operator is told of a target whose compressed stream has ended its session: in the log, in the audit log and
/// so in `explain`. A game that compresses wrongly is played uncompressed.
extension TelnetFailure {
    package var remark: String {
        "\(cause); mccp=off for its route, or TARGET_MCCP=off, has the target send uncompressed"
    }

    private var cause: String {
        switch self {
        case .corruptCompression: "the compressed stream (MCCP2) of the target is corrupt"
        case .compressionRatio:
            "the compressed stream (MCCP2) of the target expands more than the limit allows"
        case .compressionRate:
            "the compressed stream (MCCP2) of the target inflates faster than the limit allows"
        case .outOfMemory: "there was no memory to inflate the compressed stream (MCCP2) of the target"
        }
    }
}
