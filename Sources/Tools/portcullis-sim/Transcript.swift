import Telnet

/// Renders a telnet and ANSI byte stream as plain text that is readable and safe to show on a terminal.
///
/// Telnet commands and the cursor sequences of ECMA-48 (`ESC [ …`) are left out, printable UTF-8 is kept, a CR at a
/// line's end is dropped, and every other unprintable character is shown as `\x1B` or `\u{202E}`. At most three bytes
/// of an unfinished character and one subnegotiation are held.
struct Transcript: Sendable {
    private var parser = TelnetParser()
    private var state = State.text
    /// Bytes of text since the last control byte; between two calls at most the beginning of a character.
    private var pending: [UInt8] = []

    private enum State {
        case text
        case carriageReturn
        case escape
        case controlSequence
    }

    init() {}

    /// The text of the next piece of the stream. The result doesn't depend on how the stream is split.
    mutating func append(_ bytes: [UInt8]) -> String {
        var text = ""
        for case .data(let run) in parser.parse(bytes) {
            for byte in run { append(byte, to: &text) }
        }
        text += takePending(keepingTail: true)
        return text
    }

    /// The held text at the end of the stream.
    mutating func finish() -> String {
        var text = takePending(keepingTail: false)
        if state == .escape { text += escaped(0x1B) }
        state = .text
        return text
    }

    private mutating func append(_ byte: UInt8, to text: inout String) {
        switch (state, byte) {
        case (.controlSequence, 0x20...0x3F):
            return
        case (.controlSequence, 0x40...0x7E):
            state = .text
            return
        case (.escape, UInt8(ascii: "[")):
            state = .controlSequence
            return
        case (.carriageReturn, 0):
            state = .text
            return
        case (.escape, _):
            text += escaped(0x1B)
        default:
            break
        }
        // Every sequence has ended here, complete or not, and the byte is processed by itself.
        state = .text
        plain(byte, to: &text)
    }

    private mutating func plain(_ byte: UInt8, to text: inout String) {
        if byte >= 0x20, byte != 0x7F {
            pending.append(byte)
            return
        }
        text += takePending(keepingTail: false)
        switch byte {
        case 0x09, 0x0A: text.unicodeScalars.append(Unicode.Scalar(byte))
        case 0x0D: state = .carriageReturn
        case 0x1B: state = .escape
        default: text += escaped(byte)
        }
    }

    /// Decodes the pending bytes, except an unfinished character at the end if `keepingTail` keeps it for the next
    /// piece.
    private mutating func takePending(keepingTail: Bool) -> String {
        let tail = keepingTail ? pending.unfinishedCharacterLength : 0
        let bytes = pending.dropLast(tail)
        pending = Array(pending.suffix(tail))
        var text = ""
        var position = bytes.startIndex
        var iterator = bytes.makeIterator()
        var decoder = Unicode.UTF8.ForwardParser()
        while true {
            switch decoder.parseScalar(from: &iterator) {
            case .emptyInput:
                return text
            case .valid(let encoded):
                let scalar = Unicode.UTF8.decode(encoded)
                text += scalar.isHarmless ? String(scalar) : "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
                position += encoded.count
            case .error(let length):
                for byte in bytes[position..<position + length] { text += escaped(byte) }
                position += length
            }
        }
    }

    private func escaped(_ byte: UInt8) -> String {
        let digits = String(byte, radix: 16, uppercase: true)
        return "\\x" + (digits.count == 1 ? "0" : "") + digits
    }
}

extension [UInt8] {
    /// The number of bytes at the end that may begin an incomplete UTF-8 character: 0 to 3.
    fileprivate var unfinishedCharacterLength: Int {
        for length in 1...3 where length <= count {
            let byte = self[count - length]
            let needed =
                switch byte {
                case 0xC2...0xDF: 2
                case 0xE0...0xEF: 3
                case 0xF0...0xF4: 4
                default: 1
                }
            if needed > 1 { return length < needed ? length : 0 }
            if byte & 0b1100_0000 != 0b1000_0000 { return 0 }
        }
        return 0
    }
}
