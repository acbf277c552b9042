import Foundation
import Glibc
import Observability

/// A temporary folder that goes away with the probe, and what was written into a file in it.
final class OutputProbe: Sendable {
    let folder: String
    let path: String
    let output: LineOutput

    init() throws {
        folder = NSTemporaryDirectory() + "/portcullis-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        path = folder + "/out.log"
        output = try LineOutput(appendingTo: path)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: folder)
    }

    var bytes: [UInt8] {
        [UInt8](FileManager.default.contents(atPath: path) ?? Data())
    }

    var lines: [String] {
        String(decoding: bytes, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    }

    /// The only line, as an object; nil when there is another line, or none, or it isn't an object of JSON.
    func onlyObject() throws -> [String: String]? {
        guard lines.count == 2, lines[1].isEmpty else { return nil }
        return try JSONSerialization.jsonObject(with: Data(lines[0].utf8)) as? [String: String]
    }
}

/// Text that tries to forge lines, drive a terminal or turn the reading direction around.
let hostileText = "a\nb\r\u{1B}[31mred\u{202E}evil\u{2028}\u{85}\u{9B}2J\u{200B}\u{E0041}\u{0}\u{7F}\"}"

/// The characters that no output may hold raw, apart from the newline that ends a line.
let forbiddenScalars: [Unicode.Scalar] = [
    "\r", "\u{1B}", "\u{202E}", "\u{2028}", "\u{85}", "\u{9B}", "\u{200B}", "\u{E0041}", "\u{0}", "\u{7F}",
]

func holdsNothingForbidden(_ text: String) -> Bool {
    !text.unicodeScalars.contains { forbiddenScalars.contains($0) }
}
