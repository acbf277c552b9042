import Foundation
import Testing

@testable import portcullis_sim

struct WatchReportTests {
    private static func samples(_ anonymous: [Double]) throws -> [ProcessSample] {
        try anonymous.enumerated().map { index, value in
            let status = """
                Name:\tVmRSS: 3
                Threads:\t22
                VmRSS:\t   \(Int(value) + 100) kB
                RssAnon:\t   \(Int(value)) kB
                """
            return try #require(ProcessSample(status: status, files: 40 + index, time: Double(index)))
        }
    }

    @Test func `a status is read by its field names`() throws {
        let sample = try #require(try Self.samples([500]).first)
        #expect(sample.residentKiB == 600 && sample.anonymousKiB == 500 && sample.threads == 22 && sample.files == 40)
        #expect(ProcessSample(status: "VmRSS: 1 kB\nThreads: 1", files: 0, time: 0) == nil)
    }

    @Test func `a sample of this process can be taken`() throws {
        let sample = try #require(ProcessSample(pid: getpid(), time: 0))
        #expect(sample.residentKiB > 0 && sample.threads > 0 && sample.files > 2)
        #expect(ProcessSample(pid: .max, time: 0) == nil)
    }

    @Test func `memory that rises above the limit fails`() throws {
        let rising = try Self.samples((0..<60).map { 1_000 + Double($0) })
        #expect(try #require(WatchReport(rising, limit: 59, hasEnded: false)).isGood == false)
        #expect(try #require(WatchReport(rising, limit: 61, hasEnded: false)).isGood)
        #expect(try #require(WatchReport(rising, limit: nil, hasEnded: false)).isGood)
        #expect(try #require(WatchReport(rising, limit: 61, hasEnded: true)).isGood == false)
        #expect(WatchReport([], limit: nil, hasEnded: true) == nil)
    }

    @Test func `the report is shown as table and JSON`() throws {
        let report = try #require(WatchReport(try Self.samples([2_048, 4_096, 3_072]), limit: 9, hasEnded: false))
        #expect(report.table.contains("2.0 → 3.0 MiB, 2.0 to 4.0"))
        #expect(report.table.contains("40 → 42, 40 to 42"))
        #expect(report.table.contains("KiB a minute, may be 9"))
        #expect(try JSONDecoder().decode(WatchReport.self, from: Data(report.json.utf8)) == report)
    }
}
