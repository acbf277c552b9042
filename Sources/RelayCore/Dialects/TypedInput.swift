/// The message that clients of the typed protocol send most, read without building anything.
///
/// It knows the plain form alone: the members `type`, `text` and perhaps `cid`, each once, in any order, and no escape in them. nil says
/// nothing about a message: ``TypedMessage`` reads it then, and finds what is wrong with it.
struct TypedInput {
    /// A part of the message: nothing is copied.
    let text: ArraySlice<UInt8>
    let cid: UInt64?

    private enum Member {
        case type, text, cid
    }

    /// More digits than that the general reader may judge.
    private static let maximumDigits = 15

    init?(_ message: ArraySlice<UInt8>) {
        var tokenizer = JSONTokenizer(message)
        var (hasType, text, cid) = (false, ArraySlice<UInt8>?.none, UInt64?.none)
        do {
            guard try tokenizer.next() == .beginObject else { return nil }
            while let token = try tokenizer.next(), token != .endObject {
                guard case .name(let name) = token, let value = try tokenizer.next() else { return nil }
                switch (Self.member(name, message), value) {
                case (.type, .string(let type)) where !hasType && message[type.range].elementsEqual("input".utf8):
                    hasType = true
                case (.text, .string(let content)) where text == nil && !content.hasEscapes:
                    text = message[content.range]
                case (.cid, .number(let digits)) where cid == nil:
                    guard let number = Self.ordinal(message[digits]) else { return nil }
                    cid = number
                default: return nil
                }
            }
            guard hasType, let text, try tokenizer.next() == nil else { return nil }
            (self.text, self.cid) = (text, cid)
        } catch {
            return nil
        }
    }

    private static func member(_ name: JSONTokenizer.StringToken, _ message: ArraySlice<UInt8>) -> Member? {
        let bytes = message[name.range]
        if bytes.elementsEqual("text".utf8) { return .text }
        if bytes.elementsEqual("type".utf8) { return .type }
        return bytes.elementsEqual("cid".utf8) ? .cid : nil
    }

    /// Of digits alone, not 0.
    private static func ordinal(_ digits: ArraySlice<UInt8>) -> UInt64? {
        guard digits.count <= maximumDigits else { return nil }
        var number: UInt64 = 0
        for digit in digits {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) else { return nil }
            number = number * 10 + UInt64(digit - UInt8(ascii: "0"))
        }
        return number > 0 ? number : nil
    }
}
