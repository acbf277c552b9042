import WireText

/// An environment file, read strictly: a line that can't be read stops the start, since it could be the one that closes
/// the gate. The grammar:
///
///     line    = blank | comment | [ "export" space ] name "=" value [ space comment ]
///     comment = "#" to the end of the line
///     name    = a letter or "_", then letters, digits and "_"
///     value   = unquoted: up to a "#" after a space, or the end; without the spaces around it
///             | '…': taken literally
///             | "…": with \" \\ \$ for these characters
///
/// Lines end with LF or CRLF. Variables (`$NAME`) aren't expanded and are refused, except in single quotes. A name
/// may occur once.
struct SettingFile: Equatable {
    struct Entry: Equatable {
        let name: String
        let value: String
        /// From 1.
        let line: Int
    }

    /// An error in a line. It never quotes the line.
    struct Fault: Error, Equatable {
        let line: Int
        let name: String?
        let problem: String
        let remedy: String
    }

    private(set) var entries: [Entry] = []
    private(set) var faults: [Fault] = []

    init(_ text: String) {
        // An editor's byte order mark isn't part of the first name.
        let text = text.hasBytePrefix("\u{FEFF}") ? text.droppingBytes(3) : text[...]
        var firstLines: [ByteText: Int] = [:]
        for (index, line) in text.splitAtBytes(where: { $0 == UInt8(ascii: "\n") }).enumerated() {
            let isCRLF = line.utf8.last == UInt8(ascii: "\r")
            let text = isCRLF ? Substring(line.utf8.dropLast()) : line
            read(SettingFileLine(number: index + 1, text: text), &firstLines)
        }
    }

    private mutating func read(_ line: SettingFileLine, _ firstLines: inout [ByteText: Int]) {
        do throws(Fault) {
            guard let entry = try line.entry() else { return }
            if let first = firstLines[ByteText(entry.name)] {
                throw Fault(
                    line: entry.line, name: entry.name, problem: "is set twice, first in line \(first)",
                    remedy: "Remove one of the two lines.")
            }
            firstLines[ByteText(entry.name)] = entry.line
            entries.append(entry)
        } catch {
            faults.append(error)
        }
    }
}
