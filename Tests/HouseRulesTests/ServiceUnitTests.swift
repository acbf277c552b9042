import EdgeTestKit
import Foundation
import Testing

/// config/portcullis.service, as systemd's own tools judge it. Skipped, saying so, where they aren't installed.
@Suite("The systemd unit")
struct ServiceUnitTests {
    private static let path = "config/portcullis.service"
    /// In tenths, which is how `--threshold` counts.
    private static let maximumExposure = 19

    @Test func `has nothing that systemd doesn't know`() throws {
        // The program needn't be installed here.
        let unit = try Repository.text(Self.path).replacing("/usr/bin/portcullis", with: "/usr/bin/env")
        guard let complaints = try verify(unit) else { return }
        #expect(complaints == "")
        let broken = try #require(try verify(unit.replacing("\nUMask=", with: "\nUMasks=")))
        #expect(broken.contains("UMasks"))
    }

    @Test func `has a sandbox that systemd rates below 2.0`() throws {
        let unit = Repository.root.appendingPathComponent(Self.path).path
        guard let rating = analyze("security --offline=true --no-pager --threshold=\(Self.maximumExposure) '\(unit)'")
        else { return }
        #expect(rating.status == 0, "\(rating.output)")
        #expect(rating.output.contains("Overall exposure level for portcullis.service: 1."))
    }

    @Test func `waits longer than the shutdown's deadline`() throws {
        let unit = try Repository.text(Self.path)
        let settings = try Repository.text("config/portcullis.env.example")
        let deadline = try #require(settings.firstMatch(of: /\n#SHUTDOWN_DEADLINE_MS=(\d+)\n/).flatMap { Int($0.1) })
        let patience = try #require(unit.firstMatch(of: /\nTimeoutStopSec=(\d+)s\n/).flatMap { Int($0.1) })
        #expect(patience * 1000 >= 2 * deadline)
    }

    /// - Returns: the complaints; nil without systemd-analyze.
    private func verify(_ unit: String) throws -> String? {
        let directory = try TemporaryDirectory()
        let path = try directory.write(unit, to: "portcullis.service")
        return analyze("verify --man=no '\(path)'")?.output
    }

    private func analyze(_ words: String) -> (status: Int32, output: String)? {
        guard let result = run("bash", ["-c", "systemd-analyze \(words) 2>&1"]), result.status != 127 else {
            print("systemd-analyze isn't installed: the unit isn't checked")
            return nil
        }
        return result
    }
}
