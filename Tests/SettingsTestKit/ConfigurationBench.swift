package import Foundation
package import Settings

/// A temporary folder with what a gateway's configuration names, and ways to load it.
package final class ConfigurationBench: Sendable {
    package let folder: String
    package let authority: TestAuthority
    package let now = Date(timeIntervalSince1970: 1_782_896_703)

    package init() throws {
        folder = NSTemporaryDirectory() + "/portcullis-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        authority = try TestAuthority(name: "Test CA", now: now)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// Writes a file and gives its path.
    package func file(_ name: String, _ contents: String, mode: Int = 0o600) throws -> String {
        let path = folder + "/" + name
        try Data(contents.utf8).write(to: URL(fileURLWithPath: path))
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
        return path
    }

    /// The least that a gateway on plain loopback needs.
    package func least(_ changes: [String: String?] = [:]) -> [String: String] {
        changed(
            [
                "TN_HOST": "mud.example.org", "TN_PORT": "4000", "INBOUND_TLS_MODE": "off",
                "APPATTEST_TEAM_ID": "AAABBBCCC1", "APPATTEST_BUNDLE_ID": "com.example.yourapp",
                "ATTESTED_KEYS_PATH": folder + "/keys.sqlite", "PUBLIC_ORIGIN": "http://mud.example.org",
            ], changes)
    }

    /// The same over TLS, with a certificate of this bench's authority.
    package func secured(_ changes: [String: String?] = [:]) throws -> [String: String] {
        let server = try authority.issue("server", now: now, hosts: ["mud.example.org"])
        return changed(
            least([
                "INBOUND_TLS_MODE": nil, "PUBLIC_ORIGIN": nil,
                "TLS_CERT_PATH": try file("server.pem", server.certificate),
                "TLS_KEY_PATH": try file("server.key", server.key),
            ]), changes)
    }

    private func changed(_ settings: [String: String], _ changes: [String: String?]) -> [String: String] {
        settings.merging(changes.compactMapValues { $0 }) { _, new in new }
            .filter { name, _ in !(changes.keys.contains(name) && changes[name] == .some(nil)) }
    }

    package func load(_ environment: [String: String], file: String? = nil) throws(ConfigurationErrors)
        -> LoadedConfiguration
    {
        try ConfigurationLoading.load(environment: environment, environmentFile: file, now: now)
    }

    /// The errors, as `NAME problem`, in the order of the report; empty if there is none.
    package func problems(_ environment: [String: String], file: String? = nil) -> [String] {
        errors(environment, file: file).map { "\($0.setting ?? "-") \($0.problem)" }
    }

    package func errors(_ environment: [String: String], file: String? = nil) -> [ConfigurationError] {
        do throws(ConfigurationErrors) {
            _ = try load(environment, file: file)
            return []
        } catch {
            return error.errors
        }
    }

    package func warnings(_ environment: [String: String]) throws -> [String] {
        try load(environment).warnings.map(\.description)
    }
}
