import Relay
import Testing

@testable import OperatorTools

/// Frames of `portcullis top`, and sessions as text.
struct TopFrameTests {
    private func figures(time: UInt64, bytes: Int = 0, refused: Int = 0) -> GatewayFigures {
        GatewayFigures(
            version: "0.1.0", time: time, sessions: 3, connections: 4, connectionsAccepted: bytes / 100,
            sessionsOpened: 3, admitted: 3, bytesFromClients: bytes, bytesToClients: 10 * bytes,
            refusals: [GatewayFigures.Refusals(kind: "upgrade", reason: "key_revoked", count: refused)],
            reactorLag: [120, 4_000], isDraining: false)
    }

    private func session(_ id: String, carried: Int, subject: String? = nil, idle: UInt64 = 0) -> SessionSummary {
        SessionSummary(
            id: id, age: 3_700_000, idle: idle, dialect: "typed", route: "live", method: "app_attest",
            subject: subject, address: "192.0.2.1", isAttached: true, bytesFromClient: carried, bytesToClient: 0)
    }

    @Test func `rates are the differences of two samples by the gateway's own clock`() {
        let first = TopSample(figures(time: 1_000), [session("a", carried: 0), session("b", carried: 50)], after: nil)
        #expect(first.bytesIn == nil && first.rows.allSatisfy { $0.rate == nil })
        let second = TopSample(
            figures(time: 3_000, bytes: 4_000, refused: 5),
            [session("a", carried: 600), session("b", carried: 50), session("c", carried: 9)], after: first)
        #expect(second.bytesIn == 2_000 && second.bytesOut == 20_000 && second.connects == 20)
        #expect(second.rows.map(\.rate) == [300, 0, nil])
        #expect(second.refusals.first?.perSecond == 2.5)
    }

    @Test func `a gateway that began anew has no rates at first`() {
        let first = TopSample(figures(time: 9_000, bytes: 900), [], after: nil)
        let second = TopSample(figures(time: 1_000, bytes: 10), [], after: first)
        #expect(second.bytesIn == nil && second.connects == nil)
    }

    @Test(arguments: [(80, 24), (40, 10), (200, 60), (1, 1), (0, 0), (80, 3)])
    func `a frame fits its screen whatever that is`(columns: Int, rows: Int) {
        let sessions = (0..<500).map { session("s\($0)", carried: $0, subject: String(repeating: "x", count: 300)) }
        let frame = TopFrame(TopSample(figures(time: 1, refused: 1), sessions, after: nil), sort: .bytes)
        let lines = frame.lines(columns: columns, rows: rows)
        #expect(lines.count == rows && lines.allSatisfy { $0.utf8.count <= columns })
    }

    @Test func `the order is the one that is asked for`() {
        let sessions = [session("a", carried: 1, idle: 9_000), session("b", carried: 2, idle: 5_000)]
        let sample = TopSample(figures(time: 1), sessions, after: nil)
        func first(_ sort: TopFrame.Sort) -> String? {
            TopFrame(sample, sort: sort).lines(columns: 120, rows: 24).first { $0.contains("192.0.2.1") }
        }
        #expect(first(.bytes)?.contains(" b ") == true && first(.idle)?.contains(" a ") == true)
        var sort = TopFrame.Sort.rate
        for _ in TopFrame.Sort.allCases { sort = sort.next }
        #expect(sort == .rate)
    }

    @Test func `what clients say can't control the terminal`() {
        let hostile = "\u{1B}]0;owned\u{7}\u{202E}<script>\n\u{9B}2J"
        var evil = session("a", carried: 1, subject: hostile)
        evil.route = hostile
        evil.address = hostile
        let sample = TopSample(figures(time: 1), [evil], after: nil)
        let frame = TopFrame(sample, sort: .rate).lines(columns: 300, rows: 24).joined()
        for text in [frame, SessionText.table([evil]).filter { $0 != "\n" }] {
            #expect(text.utf8.allSatisfy { (0x20..<0x7F).contains($0) })
        }
        #expect(SessionText.table([evil]).split(separator: "\n").count == 2)
        #expect(!SessionText.json(evil).utf8.contains(0x1B))
    }

    @Test func `sizes and times are short`() {
        #expect(
            [0, 999, 1_000, 1_536, 20_971_520, .max].map(SessionText.size) == [
                "0", "999", "1.0K", "1.5K", "20M", "8.0E",
            ])
        #expect(
            [0, 59_999, 60_000, 11_100_000, 187_200_000].map(SessionText.duration) == [
                "0s", "59s", "1m", "3h05m", "2d04h",
            ])
    }
}
