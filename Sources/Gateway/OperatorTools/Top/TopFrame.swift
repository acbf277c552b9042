import Relay

/// One frame of `portcullis top` as lines of text: a pure function of a sample and a size.
package struct TopFrame {
    package enum Sort: String, CaseIterable, Sendable {
        case rate, bytes, idle, age

        package var next: Sort {
            switch self {
            case .rate: .bytes
            case .bytes: .idle
            case .idle: .age
            case .age: .rate
            }
        }
    }

    package static let plainSize = (columns: 80, rows: 24)
    private static let refusalLines = 4

    private let sample: TopSample
    private let sort: Sort
    private let note: String

    /// - Parameter note: for instance `paused`.
    package init(_ sample: TopSample, sort: Sort, note: String = "") {
        self.sample = sample
        self.sort = sort
        self.note = note
    }

    /// - Returns: at most `rows` lines of at most `columns` printable ASCII characters.
    package func lines(columns: Int, rows: Int) -> [String] {
        let refusals = refusalLines
        let head = [title, rates, lag, refusals.first ?? ""] + refusals.dropFirst() + ["", headings]
        let room = max(rows - head.count - 1, 0)
        let sessions = sorted.prefix(room).map { line($0, columns) }
        let all = head + sessions + Array(repeating: "", count: room - sessions.count) + [keys]
        return all.prefix(max(rows, 0)).map { String($0.prefix(max(columns, 0))) }
    }

    // MARK: The head

    private var title: String {
        let state = sample.figures.isDraining ? "  draining" : ""
        return "portcullis \(SessionText.plain(sample.figures.version))  \(sample.figures.sessions) sessions  "
            + "\(sample.figures.connections) connections\(state)" + (note.isEmpty ? "" : "  [\(note)]")
    }

    private var rates: String {
        "in \(size(sample.bytesIn))/s  out \(size(sample.bytesOut))/s  connects \(number(sample.connects))/s  "
            + "admitted \(number(sample.admissions))/s"
    }

    private var lag: String {
        "lag ms: "
            + sample.figures.reactorLag.map { number(Double($0) / 1_000) }.joined(separator: " ")
    }

    /// Those that come now first.
    private var refusalLines: [String] {
        guard !sample.refusals.isEmpty else { return ["refusals: none"] }
        let sorted = sample.refusals.sorted { ($0.perSecond ?? 0, $0.count) > ($1.perSecond ?? 0, $1.count) }
        return ["refusals:  per second       total"]
            + sorted.prefix(Self.refusalLines - 1).map { refusal in
                right(number(refusal.perSecond), 21) + right("\(refusal.count)", 12) + "  "
                    + SessionText.plain(refusal.name)
            }
    }

    private var keys: String { "q quit  s sort by \(sort.next.rawValue)  p pause" }

    // MARK: Sessions

    private var headings: String {
        "\(right("RATE/S", 8))\(right("IN", 7))\(right("OUT", 7))\(right("IDLE", 7))\(right("AGE", 7))  "
            + "\(left("ID", 16))  \(left("ROUTE", 14)) ADDRESS / SUBJECT"
    }

    private func line(_ row: TopSample.Row, _ columns: Int) -> String {
        let session = row.session
        return right(size(row.rate), 8) + right(SessionText.size(session.bytesFromClient), 7)
            + right(SessionText.size(session.bytesToClient), 7) + right(SessionText.duration(session.idle), 7)
            + right(SessionText.duration(session.age), 7) + (session.isAttached ? "  " : " -")
            + left(SessionText.plain(session.id), 16) + "  " + left(SessionText.shortened(session.route, 14), 14) + " "
            + SessionText.plain(session.address) + "  " + SessionText.shortened(session.subject ?? "-", columns)
    }

    private var sorted: [TopSample.Row] {
        sample.rows.sorted { first, second in
            let (one, two) = (key(first), key(second))
            return one == two ? first.session.id < second.session.id : one > two
        }
    }

    private func key(_ row: TopSample.Row) -> Double {
        switch sort {
        case .rate: row.rate ?? 0
        case .bytes: Double(row.session.bytes)
        case .idle: Double(row.session.idle)
        case .age: Double(row.session.age)
        }
    }

    // MARK: Numbers

    private func size(_ value: Double?) -> String { value.map { SessionText.size(Int($0.rounded())) } ?? "-" }

    /// With one decimal below 10.
    private func number(_ value: Double?) -> String {
        guard let value else { return "-" }
        guard value < 9.95 else { return "\(Int(value.rounded()))" }
        let tenths = Int((value * 10).rounded())
        return "\(tenths / 10).\(tenths % 10)"
    }

    private func right(_ text: String, _ width: Int) -> String {
        String(repeating: " ", count: max(width - text.count, 0)) + text
    }

    private func left(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(width - text.count, 0))
    }
}
