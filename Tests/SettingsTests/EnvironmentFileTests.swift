import Foundation
import Settings
import SettingsTestKit
import Testing

@Suite("The environment file of a command")
struct EnvironmentFileTests {
    private let standard = EnvironmentFile.standardPath

    private func chosen(_ option: String?, _ environment: [String: String], standardIsThere: Bool) -> EnvironmentFile? {
        EnvironmentFile(option: option, environment: environment) { $0 == standard && standardIsThere }
    }

    @Test func `is that of the option, else that of the variable, else the standard one if it exists`() {
        let variable = ["PORTCULLIS_ENV_FILE": "/b.env"]
        for isThere in [true, false] {
            let ofOption = chosen("/a.env", variable, standardIsThere: isThere)
            #expect(ofOption?.path == "/a.env" && ofOption?.choice == .option)
            let ofVariable = chosen(nil, variable, standardIsThere: isThere)
            #expect(ofVariable?.path == "/b.env" && ofVariable?.choice == .variable)
            let unset = chosen(nil, ["PORTCULLIS_ENV_FILE": ""], standardIsThere: isThere)
            #expect(unset?.choice == (isThere ? .standard : nil))
        }
        let found = chosen(nil, [:], standardIsThere: true)
        #expect(found?.path == "/etc/portcullis/portcullis.env" && found?.choice == .standard)
        #expect(chosen(nil, [:], standardIsThere: false) == nil)
    }

    /// A user who may not look for the gateway's file gets an error and doesn't work on other settings.
    @Test func `is missing only if it is known to be missing`() throws {
        let bench = try ConfigurationBench()
        let file = try bench.file("some.env", "")
        #expect(EnvironmentFile.isPresent(file))
        #expect(!EnvironmentFile.isPresent(file + "x") && !EnvironmentFile.isPresent(file + "/x"))
        // Links that lead to each other can't be followed, not even by root.
        let (one, other) = (bench.folder + "/one", bench.folder + "/other")
        try FileManager.default.createSymbolicLink(atPath: one, withDestinationPath: other)
        try FileManager.default.createSymbolicLink(atPath: other, withDestinationPath: one)
        #expect(EnvironmentFile.isPresent(one))
    }

    /// It would otherwise have an effect that nobody expects: it names the file that it is in.
    @Test func `can't be named in itself`() throws {
        let bench = try ConfigurationBench()
        let file = try bench.file("gateway.env", "PORTCULLIS_ENV_FILE=/other.env\n")
        #expect(bench.problems(bench.least(), file: file) == ["PORTCULLIS_ENV_FILE is no setting"])
    }

    @Test func `of which a command needs a part is an error for each command if it can't be read`() {
        let (environment, file) = (["TN_PORT": "x"], "/nonexistent.env")
        let reads: [(String, () throws -> Void)] = [
            (
                "store",
                { _ = try ConfigurationLoading.loadStoreLocation(environment: environment, environmentFile: file) }
            ),
            ("fleet", { _ = try ConfigurationLoading.loadFleetStore(environment: environment, environmentFile: file) }),
            ("tokens", { _ = try ConfigurationLoading.loadTokens(environment: environment, environmentFile: file) }),
            (
                "audit",
                { _ = try ConfigurationLoading.loadAuditLogPath(environment: environment, environmentFile: file) }
            ),
            (
                "socket",
                { _ = try ConfigurationLoading.loadControlSocketPath(environment: environment, environmentFile: file) }
            ),
        ]
        for (name, read) in reads {
            let errors = #expect(throws: ConfigurationErrors.self) { try read() }
            #expect(errors?.errors.count == 1, "\(name)")
            #expect(errors?.description.contains("can't be read (/nonexistent.env") == true, "\(name)")
        }
    }
}
