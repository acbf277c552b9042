import FoundationEssentials
import Observability
package import Relay

/// Sessions as text for a terminal. Whatever comes from clients is escaped, since a terminal shows it.
package enum SessionText {
    private static let headings = [
        "ID", "AGE", "IDLE", "STATE", "DIALECT", "ROUTE", "METHOD", "FROM CLIENT", "TO CLIENT", "ADDRESS", "SUBJECT",
    ]
    /// Of a subject in a list; `show` and `--json` have more.
    private static let subjectCharacters = 24

    /// - Returns: a line for each session below a line of headings, in columns.
    package static func table(_ sessions: [SessionSummary]) -> String {
        TextColumns.text([headings] + sessions.map(cells))
    }

    private static func cells(_ session: SessionSummary) -> [String] {
        [
            plain(session.id), duration(session.age), duration(session.idle),
            session.isAttached ? "attached" : "detached", plain(session.dialect), plain(session.route),
            plain(session.method), size(session.bytesFromClient), size(session.bytesToClient), plain(session.address),
            shortened(session.subject ?? "-", subjectCharacters),
        ]
    }

    /// All that is known, one item a line.
    package static func details(_ session: SessionDetail) -> String {
        let summary = session.summary
        var rows = [
            ("session", summary.id), ("client", summary.subject ?? "none"), ("method", summary.method),
            ("shown", session.shown), ("address", summary.address), ("encrypted", yes(session.isSecure)),
            ("age", duration(summary.age)), ("idle", duration(summary.idle)), ("state", state(session)),
            ("resumable", yes(session.isResumable)), ("dialect", summary.dialect), ("route", summary.route),
            ("target", session.target ?? "none"), ("target TLS", session.targetTLS ?? "none"),
            ("encoding", session.encoding ?? "unchanged"), ("dials", "\(session.dials)"),
            ("compression", session.isCompressed ? "permessage-deflate" : "none"),
        ]
        rows += [
            ("from client", "\(summary.bytesFromClient) bytes in \(session.frameBytesFromClient) bytes of frames"),
            ("to client", "\(summary.bytesToClient) bytes in \(session.frameBytesToClient) bytes of frames"),
            ("queued to client", "\(session.queuedToClient) bytes"),
            ("queued to target", "\(session.queuedToTarget) bytes"),
            ("untranslated", "\(session.pendingFromTarget) bytes"),
            ("client is read", reading(session.clientPauses)), ("target is read", reading(session.targetPauses)),
        ]
        return rows.map { "\($0.0): \(plain($0.1))" }.joined(separator: "\n")
    }

    /// One object on one line.
    package static func json(_ value: some Encodable) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return (try? encoder.encode(value)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
    }

    private static func state(_ session: SessionDetail) -> String {
        if session.isEnding { return "ending" }
        guard let left = session.endsWithoutClientIn else {
            return session.summary.isAttached ? "attached" : "detached"
        }
        return "detached, ends in \(duration(left))"
    }

    private static func yes(_ flag: Bool) -> String { flag ? "yes" : "no" }

    private static func reading(_ pauses: [String]) -> String {
        pauses.isEmpty ? "yes" : "no, because of " + pauses.joined(separator: ", ")
    }

    // MARK: Texts and numbers

    /// Escaped, and of characters that each take one column.
    static func plain(_ text: String) -> String {
        String("\(EscapedText(text))".unicodeScalars.map { $0.isASCII ? Character($0) : "?" })
    }

    static func shortened(_ text: String, _ characters: Int) -> String {
        let text = plain(text)
        return text.count > characters ? text.prefix(max(characters - 3, 0)) + "..." : text
    }

    /// `8s`, `12m`, `3h05m`, `2d04h`.
    static func duration(_ milliseconds: UInt64) -> String {
        let seconds = milliseconds / 1_000
        func two(_ number: UInt64) -> String { number < 10 ? "0\(number)" : "\(number)" }
        switch seconds {
        case ..<60: return "\(seconds)s"
        case ..<3_600: return "\(seconds / 60)m"
        case ..<86_400: return "\(seconds / 3_600)h\(two(seconds / 60 % 60))m"
        default: return "\(seconds / 86_400)d\(two(seconds / 3_600 % 24))h"
        }
    }

    /// `512`, `1.5K`, `20M`, in powers of 1,024.
    static func size(_ bytes: Int) -> String {
        var (value, unit) = (Double(max(bytes, 0)), 0)
        let units = ["", "K", "M", "G", "T", "P", "E"]
        while value >= 1_000, unit < units.count - 1 {
            value /= 1_024
            unit += 1
        }
        guard unit > 0, value < 9.95 else { return "\(Int(value.rounded()))\(units[unit])" }
        let tenths = Int((value * 10).rounded())
        return "\(tenths / 10).\(tenths % 10)\(units[unit])"
    }
}
