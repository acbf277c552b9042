import WireText

/// Removes the Mud eXtension Protocol's markup from a target's text: tags, entities and the sequences `ESC [ n z` that
/// select the lines in which markup is interpreted.
///
/// It works on the bytes before they are decoded, because all markup is ASCII. Text that begins like markup but doesn't
/// end like it is passed through unchanged; at most ``maximumTagBytes`` wait for that decision.
struct MXPStripper: Codable {
    /// The longest tag, definitions included.
    static let maximumTagBytes = 2_048
    /// The longest entity name; no entity that every client knows is longer.
    static let maximumEntityBytes = 10
    /// `ESC [ nnn z`
    private static let maximumEscapeBytes = 6

    private enum State: Codable {
        case text
        /// After ESC.
        case escape
        /// After `<`.
        case tagBegin
        /// Inside a tag, and inside this quote if there is one.
        case tag(quote: UInt8?)
        case comment
        /// After `&`.
        case entity
    }

    private var state = State.text
    /// The bytes of the unfinished markup.
    private var held: [UInt8] = []
    /// Whether tags are interpreted in this line, in each new line, and for the next tag only.
    private var isOpen = true
    private var isOpenByDefault = true
    private var isOpenForOneTag = false

    /// - Returns: the text in `bytes`; at most ``maximumTagBytes`` longer than they are.
    mutating func strip(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(bytes.count)
        var rest = bytes
        while let byte = rest.first {
            if case .text = state {
                output += takeText(&rest)
                if let special = rest.popFirst() { begin(special, &output) }
            } else if !accept(byte, &output) {
                // The byte doesn't continue the markup, so the held bytes are text.
                output += flush()
            } else {
                rest.removeFirst()
            }
        }
        return output
    }

    /// The unfinished markup, as text, when no more input will come.
    mutating func flush() -> [UInt8] {
        defer { end() }
        return held
    }

    private mutating func takeText(_ rest: inout ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let end = rest.firstIndex(where: isSpecial) ?? rest.endIndex
        defer { rest = rest[end...] }
        return rest[..<end]
    }

    private func isSpecial(_ byte: UInt8) -> Bool {
        switch byte {
        case ASCII.escape, ASCII.lineFeed: true
        case ASCII.less: isOpen || isOpenForOneTag
        case ASCII.ampersand: isOpen
        default: isOpenForOneTag
        }
    }

    private mutating func begin(_ byte: UInt8, _ output: inout [UInt8]) {
        switch byte {
        case ASCII.escape: state = .escape
        case ASCII.less: state = .tagBegin
        case ASCII.ampersand where isOpen: state = .entity
        default:
            // Text arrived instead of the one announced tag, or the line ended and its line mode with it.
            isOpenForOneTag = false
            if byte == ASCII.lineFeed { isOpen = isOpenByDefault }
            output.append(byte)
            return
        }
        held = [byte]
    }

    /// - Returns: false if `byte` can't continue the markup.
    private mutating func accept(_ byte: UInt8, _ output: inout [UInt8]) -> Bool {
        switch state {
        case .text: return false
        case .escape: return acceptEscape(byte)
        case .tagBegin:
            guard byte == ASCII.slash || byte == ASCII.exclamation || byte.isASCIILetter else { return false }
            held.append(byte)
            state = .tag(quote: nil)
            return true
        case .tag(let quote): return acceptTag(byte, quote, &output)
        case .comment:
            guard held.count < Self.maximumTagBytes else { return false }
            held.append(byte)
            if held.suffix(3).elementsEqual("-->".utf8) { end() }
            return true
        case .entity: return acceptEntity(byte, &output)
        }
    }

    private mutating func acceptEscape(_ byte: UInt8) -> Bool {
        guard held.count < Self.maximumEscapeBytes else { return false }
        if held.count == 1 {
            guard byte == ASCII.bracket else { return false }
        } else if byte == ASCII.z {
            let number = held.dropFirst(2).reduce(0) { $0 * 10 + Int($1 - ASCII.zero) }
            end()
            changeMode(to: number)
            return true
        } else {
            guard (ASCII.zero...ASCII.nine).contains(byte) else { return false }
        }
        held.append(byte)
        return true
    }

    /// The line tags 0 to 7; higher ones are defined by the target for lines with markup.
    private mutating func changeMode(to number: Int) {
        switch number {
        case 2: isOpen = false
        case 3: (isOpen, isOpenByDefault) = (true, true)
        case 4: isOpenForOneTag = true
        case 5, 6: (isOpen, isOpenByDefault) = (true, true)
        case 7: (isOpen, isOpenByDefault) = (false, false)
        default: isOpen = true
        }
    }

    private mutating func acceptTag(_ byte: UInt8, _ quote: UInt8?, _ output: inout [UInt8]) -> Bool {
        guard held.count < Self.maximumTagBytes, byte != ASCII.lineFeed, byte != ASCII.escape else { return false }
        held.append(byte)
        if let quote {
            if byte == quote { state = .tag(quote: nil) }
        } else if byte == ASCII.quote || byte == ASCII.apostrophe {
            state = .tag(quote: byte)
        } else if byte == ASCII.greater {
            if isLineBreak(held) { output += [ASCII.carriageReturn, ASCII.lineFeed] }
            isOpenForOneTag = false
            end()
        } else if held.count == 4, held.elementsEqual("<!--".utf8) {
            state = .comment
        }
        return true
    }

    private mutating func acceptEntity(_ byte: UInt8, _ output: inout [UInt8]) -> Bool {
        guard held.count <= Self.maximumEntityBytes else { return false }
        guard byte == ASCII.semicolon else {
            guard byte.isASCIILetter || (ASCII.zero...ASCII.nine).contains(byte) || byte == ASCII.hash else {
                return false
            }
            held.append(byte)
            return true
        }
        guard let character = Self.character(named: held.dropFirst()) else { return false }
        output.append(character)
        end()
        return true
    }

    /// The entities for single ASCII characters. Others are meaningful only to a client that renders markup.
    private static func character(named name: ArraySlice<UInt8>) -> UInt8? {
        let text = String(decoding: name, as: UTF8.self)
        switch WireWord(text) {
        case "lt": return ASCII.less
        case "gt": return ASCII.greater
        case "amp": return ASCII.ampersand
        case "quot": return ASCII.quote
        case "apos": return ASCII.apostrophe
        case "nbsp": return ASCII.space
        default:
            guard name.first == ASCII.hash, let code = UInt8(text.droppingBytes(1)), (0x20...0x7E).contains(code) else {
                return nil
            }
            return code
        }
    }

    /// `<br>` is the only tag that is replaced by text.
    private func isLineBreak(_ tag: [UInt8]) -> Bool {
        tag.dropFirst().prefix { $0.isASCIILetter }.elementsEqual("br".utf8) { ASCIIByte.lowercased($0) == $1 }
    }

    private mutating func end() {
        held = []
        state = .text
    }
}

private enum ASCII {
    static let lineFeed: UInt8 = 10
    static let carriageReturn: UInt8 = 13
    static let escape: UInt8 = 27
    static let space = UInt8(ascii: " ")
    static let exclamation = UInt8(ascii: "!")
    static let quote = UInt8(ascii: "\"")
    static let hash = UInt8(ascii: "#")
    static let ampersand = UInt8(ascii: "&")
    static let apostrophe = UInt8(ascii: "'")
    static let slash = UInt8(ascii: "/")
    static let zero = UInt8(ascii: "0")
    static let nine = UInt8(ascii: "9")
    static let semicolon = UInt8(ascii: ";")
    static let less = UInt8(ascii: "<")
    static let greater = UInt8(ascii: ">")
    static let bracket = UInt8(ascii: "[")
    static let z = UInt8(ascii: "z")
}

extension UInt8 {
    fileprivate var isASCIILetter: Bool { ASCIIByte.isLetter(self) }
}

/// How the Mud eXtension Protocol, a markup inside the text, is handled.
package enum MXPMode: String, Codable, Hashable, Sendable, CaseIterable {
    /// The option is accepted and the text passes unchanged: the client renders the markup.
    case pass
    /// The option is accepted and the markup is removed.
    case strip
    /// The option is refused, so the target sends no markup.
    case refuse
}
