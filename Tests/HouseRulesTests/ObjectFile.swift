import Foundation

/// What the functions of one compiled file refer to, read from its object file (ELF with 64 bits, little-endian: System
/// V ABI, chapter 4).
struct ObjectFile {
    /// A function that uses a symbol; both are mangled names.
    struct Reference: Hashable {
        let function: String
        let symbol: String
    }

    private let bytes: Data
    private let sections: [Section]

    private struct Section {
        let type, info: UInt32
        let offset, size, link: Int
    }

    /// - Returns: nil for anything but such a file.
    init?(_ bytes: Data) {
        guard bytes.count >= 64, bytes.prefix(6).elementsEqual([0x7F, 0x45, 0x4C, 0x46, 2, 1]) else { return nil }
        self.bytes = bytes
        sections = bytes.withUnsafeBytes { file in
            let (start, size) = (Int(file.number(at: 0x28) as UInt64), Int(file.number(at: 0x3A) as UInt16))
            return (0..<Int(file.number(at: 0x3C) as UInt16)).map { index in
                let place = start + index * size
                return Section(
                    type: file.number(at: place + 4), info: file.number(at: place + 0x2C),
                    offset: Int(file.number(at: place + 0x18) as UInt64),
                    size: Int(file.number(at: place + 0x20) as UInt64),
                    link: Int(file.number(at: place + 0x28) as UInt32))
            }
        }
    }

    private static let symbolTable: UInt32 = 2
    private static let relocations: UInt32 = 4
    private static let functionType: UInt8 = 2
    /// Of an entry of a symbol table, and of one of relocations.
    private static let entryBytes = 24

    /// The uses of the symbols that `isSought` names.
    func references(to isSought: (String) -> Bool) -> Set<Reference> {
        guard let table = sections.first(where: { $0.type == Self.symbolTable }) else { return [] }
        return bytes.withUnsafeBytes { file in
            let strings = sections[table.link].offset
            let (sought, functions) = symbols(file, table, strings, isSought)
            var found: Set<Reference> = []
            guard !sought.isEmpty else { return found }
            for section in sections where section.type == Self.relocations {
                let functions = functions[Int(section.info), default: []].sorted { $0.start < $1.start }
                for place in stride(from: section.offset, to: section.offset + section.size, by: Self.entryBytes) {
                    guard let symbol = sought[Int(file.number(at: place + 12) as UInt32)],
                        let function = Self.function(at: file.number(at: place), of: functions)
                    else { continue }
                    found.insert(Reference(function: file.name(at: strings + function.name), symbol: symbol))
                }
            }
            return found
        }
    }

    private struct Function {
        let start, end: UInt64
        let name: Int
    }

    private func symbols(
        _ file: UnsafeRawBufferPointer, _ table: Section, _ strings: Int, _ isSought: (String) -> Bool
    ) -> (sought: [Int: String], functions: [Int: [Function]]) {
        var (sought, functions): ([Int: String], [Int: [Function]]) = ([:], [:])
        for index in 0..<table.size / Self.entryBytes {
            let place = table.offset + index * Self.entryBytes
            let (name, section) = (Int(file.number(at: place) as UInt32), Int(file.number(at: place + 6) as UInt16))
            let text = file.name(at: strings + name)
            if isSought(text) { sought[index] = text }
            let type: UInt8 = file.number(at: place + 4)
            if type & 0xF == Self.functionType, section > 0 {
                let start: UInt64 = file.number(at: place + 8)
                let end = start + file.number(at: place + 16)
                functions[section, default: []].append(Function(start: start, end: end, name: name))
            }
        }
        return (sought, functions)
    }

    private static func function(at address: UInt64, of functions: [Function]) -> Function? {
        var (low, high) = (0, functions.count)
        while low < high {
            let middle = (low + high) / 2
            if functions[middle].start <= address { low = middle + 1 } else { high = middle }
        }
        guard low > 0, address < functions[low - 1].end else { return nil }
        return functions[low - 1]
    }
}

extension UnsafeRawBufferPointer {
    fileprivate func number<Number: FixedWidthInteger>(at place: Int) -> Number {
        loadUnaligned(fromByteOffset: place, as: Number.self)
    }

    /// A text that ends with a zero byte.
    fileprivate func name(at place: Int) -> String {
        guard let start = baseAddress, place < count else { return "" }
        return String(cString: start.advanced(by: place).assumingMemoryBound(to: CChar.self))
    }
}
