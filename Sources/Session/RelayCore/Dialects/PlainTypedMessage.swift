import StrictJSON
import WireText

/// The most frequent messages of typed-protocol clients, `input` and `syncAck`, read without building anything.
///
/// It accepts only the plain form: exactly the members of such a message, each once, in any order, without escapes. nil
/// says nothing about the message's validity: ``TypedMessage`` then reads it and finds any error.
struct PlainTypedMessage {
    private enum Kind {
        case input, syncAck
    }

    private enum Member {
        case type, text, cid, sessionID, lastSeq
    }

    /// Numbers with more digits are left to the general reader.
    private static let maximumDigits = 15

    private let message: ArraySlice<UInt8>
    private var kind: Kind?
    /// The text's position in the message, like that of the session's id.
    private var text: Range<Int>?
    private var cid: UInt64?
    private var sessionID: Range<Int>?
    private var lastSeq: UInt64?

    init?(_ message: ArraySlice<UInt8>) {
        self.message = message
        var tokenizer = JSONTokenizer(message, within: .message)
        do {
            guard try tokenizer.next() == .beginObject else { return nil }
            while let token = try tokenizer.next(), token != .endObject {
                guard case .name(let name) = token, let member = Self.member(message[name.range]),
                    let value = try tokenizer.next(), take(member, value)
                else { return nil }
            }
            guard try tokenizer.next() == nil else { return nil }
        } catch {
            return nil
        }
    }

    /// Its contents are slices of the message: nothing is copied.
    var command: ClientCommand? {
        switch (kind, text, sessionID, lastSeq) {
        case (.input, let text?, nil, nil): .input(message[text], cid: cid)
        case (.syncAck, nil, let sessionID?, let lastSeq?) where cid == nil:
            .acknowledge(sessionID: message[sessionID], lastSeq: lastSeq)
        default: nil
        }
    }

    /// - Returns: false if the member isn't plain.
    private mutating func take(_ member: Member, _ value: JSONTokenizer.Token) -> Bool {
        switch (member, value) {
        case (.type, .string(let name)) where kind == nil:
            kind = Self.kind(message[name.range])
            return kind != nil
        case (.text, .string(let content)) where text == nil && !content.hasEscapes:
            text = content.range
        case (.sessionID, .string(let content)) where sessionID == nil && !content.hasEscapes:
            sessionID = content.range
            return Self.isVisible(message[content.range])
        case (.cid, .number(let digits)) where cid == nil:
            cid = Self.number(message[digits])
            return cid ?? 0 > 0
        case (.lastSeq, .number(let digits)) where lastSeq == nil:
            lastSeq = Self.number(message[digits])
            return lastSeq != nil
        default: return false
        }
        return true
    }

    private static func kind(_ name: ArraySlice<UInt8>) -> Kind? {
        if name.elementsEqual("input".utf8) { return .input }
        return name.elementsEqual("syncAck".utf8) ? .syncAck : nil
    }

    private static func member(_ name: ArraySlice<UInt8>) -> Member? {
        switch name.count {
        case 3: return name.elementsEqual("cid".utf8) ? .cid : nil
        case 4:
            if name.elementsEqual("text".utf8) { return .text }
            return name.elementsEqual("type".utf8) ? .type : nil
        case 7: return name.elementsEqual("lastSeq".utf8) ? .lastSeq : nil
        case 9: return name.elementsEqual("sessionId".utf8) ? .sessionID : nil
        default: return nil
        }
    }

    /// The text begins with a character that is certainly not white space.
    private static func isVisible(_ text: ArraySlice<UInt8>) -> Bool {
        text.first.map { (0x21...0x7E).contains($0) } ?? false
    }

    /// Digits only.
    private static func number(_ digits: ArraySlice<UInt8>) -> UInt64? {
        guard digits.count <= maximumDigits else { return nil }
        var number: UInt64 = 0
        for digit in digits {
            guard ASCIIByte.isDigit(digit) else { return nil }
            number = number * 10 + UInt64(digit - UInt8(ascii: "0"))
        }
        return number
    }
}
