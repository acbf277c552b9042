import EdgeTestKit
import Foundation

/// The files that the rules are about, found from where this file stood when it was compiled.
enum Repository {
    static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    /// Read once: many tests look at the same files.
    static let sources = swiftFiles(below: "Sources")
    static let tests = swiftFiles(below: "Tests")

    static func text(_ path: String) throws -> String {
        try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
    }

    private static func swiftFiles(below folder: String) -> [SourceFile] {
        let names = FileManager.default.enumerator(atPath: root.appendingPathComponent(folder).path) ?? .init()
        return names.compactMap { $0 as? String }.filter { $0.hasSuffix(".swift") }.sorted().compactMap { name in
            guard let text = try? text("\(folder)/\(name)") else { return nil }
            return SourceFile(path: "\(folder)/\(name)", text: text)
        }
    }
}

/// A Swift file, the target it belongs to, and that one's room.
struct SourceFile {
    /// Relative to the root: `Sources/Wire/Telnet/TelnetParser.swift`.
    let path: String
    let text: String
    let swift: SwiftText

    init(path: String, text: String) {
        self.path = path
        self.text = text
        swift = SwiftText(text)
    }

    /// The target has the name of its folder, below a room of `Sources` or below `Tests`.
    var target: String { folder(isSource ? 2 : 1) }

    /// The folder below `Sources`; empty for a test.
    var room: String { isSource ? folder(1) : "" }

    var isSource: Bool { path.hasPrefix("Sources/") }

    private func folder(_ depth: Int) -> String {
        let folders = path.split(separator: "/").dropLast()
        return folders.count > depth ? String(folders[depth]) : ""
    }

    func finding(line: Int, _ what: String) -> String { "\(path):\(line): \(what)" }
}

/// Runs a program found in PATH; nil when it isn't there.
///
/// - returns: its exit status and what it wrote to standard output.
func run(_ program: String, _ arguments: [String], in directory: URL = Repository.root) -> (
    status: Int32, output: String
)? {
    let output = Pipe()
    let null = open("/dev/null", O_RDWR)
    defer { close(null) }
    let files = (null, output.fileHandleForWriting.fileDescriptor, null)
    let environment = ProcessInfo.processInfo.environment
    guard
        let process = try? Spawn.start(
            "/usr/bin/env", [program] + arguments, environment: environment, directory: directory.path, files: files)
    else { return nil }
    try? output.fileHandleForWriting.close()
    let data = output.fileHandleForReading.readDataToEndOfFile()
    // env answers 127 for a program that it doesn't find.
    guard case .exited(let status) = Spawn.end(of: process), status != 127 else { return nil }
    return (status, String(decoding: data, as: UTF8.self))
}
