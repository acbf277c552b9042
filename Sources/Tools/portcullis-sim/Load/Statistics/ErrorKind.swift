/// A kind of error, in words that can be counted and passed to `--tolerate`.
struct ErrorKind: RawRepresentable, Hashable, Comparable, Error, Codable {
    let rawValue: String

    init(rawValue: String) {
        self.rawValue = rawValue
    }

    static func < (left: ErrorKind, right: ErrorKind) -> Bool { left.rawValue < right.rawValue }

    /// Counted in bytes, unlike the others.
    static let lostBytes = ErrorKind(rawValue: "lost_bytes")
    static let doubledBytes = ErrorKind(rawValue: "doubled_bytes")
    static let corruptBytes = ErrorKind(rawValue: "corrupt_bytes")
    /// Numbers of typed messages that were skipped without a `gap`, or repeated.
    static let sequenceGap = ErrorKind(rawValue: "sequence_gap")
    static let sequenceDoubled = ErrorKind(rawValue: "sequence_doubled")
    /// The gateway announced more or fewer lost bytes than there are; counted in bytes.
    static let wrongGapBytes = ErrorKind(rawValue: "wrong_gap_bytes")
    /// A gap that doesn't begin at the client's position, or one before the gateway's buffer was full.
    static let wrongGap = ErrorKind(rawValue: "wrong_gap")
    /// The replay was larger than the gateway's buffer allows.
    static let bufferExceeded = ErrorKind(rawValue: "buffer_exceeded")
    /// `replayed` on a message after the replay.
    static let replayMisplaced = ErrorKind(rawValue: "replay_misplaced")
    /// A resume that didn't change the token.
    static let tokenKept = ErrorKind(rawValue: "token_kept")
    /// An `inputAck` for an input that was never sent.
    static let unknownAcknowledgement = ErrorKind(rawValue: "unknown_acknowledgement")
    /// A connection whose session was taken over and that wasn't closed with 1008.
    static let takeoverUntold = ErrorKind(rawValue: "takeover_untold")
    /// A session that hadn't been resumed at the end of the run.
    static let notResumed = ErrorKind(rawValue: "not_resumed")
    /// The gateway reported the end of the session.
    static let disconnected = ErrorKind(rawValue: "disconnected")
    /// A message that isn't part of the dialect.
    static let badMessage = ErrorKind(rawValue: "bad_message")
    /// No answer to the upgrade: no TCP, no TLS, or the connection ended.
    static let notConnected = ErrorKind(rawValue: "not_connected")
    static let noChallenge = ErrorKind(rawValue: "no_challenge")
    static let noToken = ErrorKind(rawValue: "no_token")
    /// No answer about a passkey, or one that can't be used.
    static let noPasskey = ErrorKind(rawValue: "no_passkey")
    /// No answer of `/authz`.
    static let notAuthorized = ErrorKind(rawValue: "not_authorized")
    static let timedOut = ErrorKind(rawValue: "timed_out")
    static let notRegistered = ErrorKind(rawValue: "not_registered")
    /// The connection ended without a Close frame.
    static let broken = ErrorKind(rawValue: "broken")

    /// An HTTP answer instead of the 101.
    static func refused(status: Int, code: String?) -> ErrorKind {
        ErrorKind(rawValue: "refused_\(status)" + (code.map { "_" + word($0) } ?? ""))
    }

    static func closed(code: UInt16?) -> ErrorKind {
        ErrorKind(rawValue: code.map { "closed_\($0)" } ?? "closed_without_code")
    }

    /// An `error` of the typed dialect, such as `session_expired`.
    static func told(code: String) -> ErrorKind { ErrorKind(rawValue: word(code)) }

    /// A server's words are shown on a terminal, so they are made plain and short.
    private static func word(_ text: String) -> String {
        String(
            text.unicodeScalars.prefix(40).map { scalar in
                let isPlain = scalar.isASCII && (scalar.properties.isAlphabetic || ("0"..."9").contains(scalar))
                return isPlain ? Character(scalar) : "_"
            })
    }

    /// The kind of a stream's fault, and its number of bytes.
    static func of(_ fault: StreamFault) -> (ErrorKind, UInt64) {
        switch fault {
        case .lost(let count): (lostBytes, count)
        case .doubled(let count): (doubledBytes, count)
        case .corrupt(let count): (corruptBytes, count)
        case .wrongGap(let count): (wrongGapBytes, count)
        }
    }
}

/// Counts by kind, of bounded size because servers choose some of the words.
struct ErrorCounts: Hashable, Sendable {
    static let maximumKinds = 100
    static let others = ErrorKind(rawValue: "others")

    private(set) var counts: [ErrorKind: UInt64] = [:]

    var total: UInt64 { counts.values.reduce(0, +) }

    mutating func count(_ kind: ErrorKind, _ amount: UInt64 = 1) {
        let isKnown = counts[kind] != nil || counts.count < Self.maximumKinds
        counts[isKnown ? kind : Self.others, default: 0] += amount
    }

    mutating func merge(_ other: ErrorCounts) {
        for (kind, amount) in other.counts { count(kind, amount) }
    }

    /// The counts without expected kinds.
    func without(_ tolerated: Set<ErrorKind>) -> [ErrorKind: UInt64] {
        counts.filter { !tolerated.contains($0.key) }
    }
}
