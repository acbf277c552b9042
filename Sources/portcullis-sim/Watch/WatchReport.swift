import Foundation

/// A process's resources over a period, as a table for people and as JSON for programs.
struct WatchReport: Hashable, Sendable, Codable {
    struct Range: Hashable, Sendable, Codable {
        let first, last, least, most: Double

        init?(_ values: [Double]) {
            guard let first = values.first, let last = values.last, let least = values.min(), let most = values.max()
            else { return nil }
            self.first = first
            self.last = last
            self.least = least
            self.most = most
        }
    }

    let samples: Int
    let seconds: Double
    let residentKiB, anonymousKiB, threads, files: Range
    /// KiB per minute of anonymous memory; nil if there were too few samples.
    let trend: Trend?
    /// The limit of the trend, in KiB per minute.
    let limit: Double?
    /// The process ran until the end, and its memory doesn't rise faster than the limit.
    let isGood: Bool

    /// - Returns: nil without a sample.
    init?(_ samples: [ProcessSample], limit: Double?, hasEnded: Bool) {
        guard let first = samples.first, let last = samples.last, let resident = Range(samples.map(\.residentKiB)),
            let anonymous = Range(samples.map(\.anonymousKiB)), let threads = Range(samples.map { Double($0.threads) }),
            let files = Range(samples.map { Double($0.files) })
        else { return nil }
        self.samples = samples.count
        seconds = last.time - first.time
        residentKiB = resident
        anonymousKiB = anonymous
        self.threads = threads
        self.files = files
        trend = Trend(samples.map { ($0.time / 60, $0.anonymousKiB) })
        self.limit = limit
        let rises = if let limit, let trend { trend.rises(faster: limit) } else { false }
        isGood = !hasEnded && !rises
    }

    var table: String {
        let slope =
            trend.map { trend in
                String(format: "%+.0f ± %.0f KiB a minute", trend.slope, trend.standardError)
                    + (limit.map { String(format: ", may be %.0f", $0) } ?? "")
            } ?? "–"
        let rows = [
            ("watched", "\(Figures.short(seconds)) s, \(samples) samples"), ("resident", Self.mebibytes(residentKiB)),
            ("anonymous", Self.mebibytes(anonymousKiB)), ("slope", slope), ("threads", Self.counts(threads)),
            ("files", Self.counts(files)),
        ]
        return rows.map { $0.0.padding(toLength: 11, withPad: " ", startingAt: 0) + $0.1 + "\n" }.joined()
    }

    var json: String {
        get throws {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
            return String(decoding: try encoder.encode(self), as: UTF8.self)
        }
    }

    private static func mebibytes(_ range: Range) -> String {
        String(
            format: "%.1f → %.1f MiB, %.1f to %.1f", range.first / 1024, range.last / 1024, range.least / 1024,
            range.most / 1024)
    }

    private static func counts(_ range: Range) -> String {
        String(format: "%.0f → %.0f, %.0f to %.0f", range.first, range.last, range.least, range.most)
    }
}
