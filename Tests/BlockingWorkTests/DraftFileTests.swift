import Foundation
import Testing

@testable import BlockingWork

@Suite("A file that is replaced as a whole")
final class DraftFileTests {
    private let directory: String

    init() throws {
        directory = NSTemporaryDirectory() + "portcullis-files-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
    }

    deinit { try? FileManager.default.removeItem(atPath: directory) }

    private func path(_ name: String) -> String { directory + "/" + name }
    private var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: directory).sorted() }
    }

    private func content(_ name: String) throws -> [UInt8] {
        Array(try Data(contentsOf: URL(fileURLWithPath: path(name))))
    }

    private func mode(_ name: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path(name))[.posixPermissions] as? Int
    }

    @Test func `has its name only when it is published`() throws {
        let draft = try DraftFile(path("draft"))
        try draft.write([1, 2, 3])
        #expect(try names == ["draft"] && mode("draft") == 0o600)
        try draft.publish(as: path("file"), in: directory, replacing: false)
        #expect(try names == ["file"] && content("file") == [1, 2, 3] && mode("file") == 0o600)
        let next = try DraftFile(path("draft"))
        try next.write([4])
        try next.publish(as: path("file"), in: directory, replacing: true)
        #expect(try names == ["file"] && content("file") == [4])
    }

    @Test func `doesn't take a name that a file has, unless it is to`() throws {
        try Data("precious".utf8).write(to: URL(fileURLWithPath: path("file")))
        let draft = try DraftFile(path("draft"))
        do throws(FileFault) {
            try draft.publish(as: path("file"), in: directory, replacing: false)
            Issue.record("it was published")
        } catch {
            if case .exists = error {} else { Issue.record("\(error.text)") }
        }
        #expect(try content("file") == Array("precious".utf8))
        draft.remove()
        #expect(try names == ["file"])
    }

    @Test func `is never written through a link or into another's file`() throws {
        try Data("precious".utf8).write(to: URL(fileURLWithPath: path("file")))
        try FileManager.default.createSymbolicLink(atPath: path("draft"), withDestinationPath: path("file"))
        try FileManager.default.createSymbolicLink(atPath: path("dangling"), withDestinationPath: path("missing"))
        for name in ["draft", "dangling", "file"] {
            #expect(throws: FileFault.self) { try DraftFile(self.path(name)) }
        }
        #expect(try content("file") == Array("precious".utf8) && names == ["dangling", "draft", "file"])
    }

    @Test func `is read as it was written last`() throws {
        let file = SmallFile("small", in: directory)
        #expect(try file.read(maximum: 4) == nil)
        try file.replace(with: [1, 2, 3, 4])
        #expect(try file.read(maximum: 4) == [1, 2, 3, 4])
        // Longer than it may be.
        #expect(try file.read(maximum: 2) == [1, 2, 3])
        // What another process has left.
        try Data("half".utf8).write(to: URL(fileURLWithPath: path("small.new")))
        try file.replace(with: [])
        #expect(try file.read(maximum: 4) == [] && names == ["small"] && mode("small") == 0o600)
    }

    @Test func `stays as it was if it can't be replaced`() throws {
        // A directory can't be replaced by a file.
        try FileManager.default.createDirectory(atPath: path("small"), withIntermediateDirectories: false)
        #expect(throws: FileFault.self) { try SmallFile("small", in: directory).replace(with: [1]) }
        #expect(try names == ["small"])
        #expect(throws: FileFault.self) { try SmallFile("small", in: "/proc/self").replace(with: [1]) }
    }
}
