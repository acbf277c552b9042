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

/// A process's resources at one moment, from Linux (proc(5)).
struct ProcessSample: Hashable, Sendable {
    /// Seconds since the first sample.
    let time: Double
    let residentKiB: Double
    /// Resident memory that isn't backed by a file: it includes leaks, whichever allocator they came from.
    let anonymousKiB: Double
    let threads: Int
    let files: Int

    /// - Returns: nil if there is no such process, or if we may not inspect it.
    init?(pid: Int32, time: Double) {
        guard let status = try? String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8),
            let files = try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/fd").count
        else { return nil }
        self.init(status: status, files: files, time: time)
    }

    /// - Parameter status: of `/proc/<pid>/status`.
    init?(status: String, files: Int, time: Double) {
        func number(_ name: String) -> Int? {
            let line = status.split(separator: "\n").first { $0.hasPrefix(name + ":") }
            return line?.dropFirst(name.count + 1).split(whereSeparator: \.isWhitespace).first.flatMap { Int($0) }
        }
        guard let resident = number("VmRSS"), let anonymous = number("RssAnon"), let threads = number("Threads")
        else { return nil }
        self.time = time
        residentKiB = Double(resident)
        anonymousKiB = Double(anonymous)
        self.threads = threads
        self.files = files
    }
}

/// A straight line fitted to measurements by least squares, with the uncertainty of its slope.
///
/// Neighbouring samples of a process are correlated, which would make every slope look more certain than it is.
/// Therefore the line is fitted to the means of blocks: the standard error comes from the scatter of those means around
/// it.
struct Trend: Hashable, Sendable, Codable {
    static let blocks = 12

    /// Units of y per unit of x.
    let slope: Double
    let standardError: Double

    /// - Returns: nil for fewer samples than three blocks need, or if all have the same time.
    init?(_ samples: [(x: Double, y: Double)]) {
        let points = Self.means(of: samples)
        guard points.count >= 3 else { return nil }
        let count = Double(points.count)
        let centre = (x: points.reduce(0) { $0 + $1.x } / count, y: points.reduce(0) { $0 + $1.y } / count)
        let spread = points.reduce(0) { $0 + ($1.x - centre.x) * ($1.x - centre.x) }
        guard spread > 0 else { return nil }
        let slope = points.reduce(0) { $0 + ($1.x - centre.x) * ($1.y - centre.y) } / spread
        let rest = points.reduce(0) { sum, point in
            let off = point.y - centre.y - slope * (point.x - centre.x)
            return sum + off * off
        }
        self.slope = slope
        standardError = (rest / (count - 2) / spread).squareRoot()
    }

    private static func means(of samples: [(x: Double, y: Double)]) -> [(x: Double, y: Double)] {
        let count = min(blocks, samples.count)
        return (0..<count).map { block in
            let part = samples[samples.count * block / count..<samples.count * (block + 1) / count]
            let size = Double(part.count)
            return (part.reduce(0) { $0 + $1.x } / size, part.reduce(0) { $0 + $1.y } / size)
        }
    }

    /// Whether it rises faster than `limit` even if chance has made it too steep by two standard errors.
    func rises(faster limit: Double) -> Bool {
        slope - 2 * standardError > limit
    }
}
