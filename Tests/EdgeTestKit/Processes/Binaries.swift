import Foundation

/// The location of the built programs.
///
/// They are beside the test bundle; `PORTCULLIS_BIN` selects another `portcullis`, for instance one built with a
/// sanitizer.
package enum Binaries {
    package static func portcullis() throws -> String {
        if let chosen = ProcessInfo.processInfo.environment["PORTCULLIS_BIN"], !chosen.isEmpty { return chosen }
        return try find("portcullis")
    }

    package static func find(_ name: String) throws -> String {
        let bundle = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let candidates = [
            URL(fileURLWithPath: bundle).deletingLastPathComponent().appendingPathComponent(name).path,
            repository.appendingPathComponent(".build/debug/\(name)").path,
        ]
        guard let path = candidates.first(where: FileManager.default.isExecutableFile(atPath:)) else {
            throw EdgeTestError("no \(name) among \(candidates)")
        }
        return path
    }

    private static var repository: URL {
        URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
    }

    /// A file of the repository, for instance a script that operators use.
    package static func repositoryFile(_ path: String) throws -> String {
        let file = repository.appendingPathComponent(path).path
        guard FileManager.default.fileExists(atPath: file) else { throw EdgeTestError("no \(file)") }
        return file
    }
}
