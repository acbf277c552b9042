/// Base64 (RFC 4648 section 4), padded.
package enum Base64 {
    package static func encode(_ bytes: some Sequence<UInt8>) -> String {
        var text: [UInt8] = []
        append(Array(bytes)[...], to: &text)
        return String(decoding: text, as: UTF8.self)
    }

    package static func append(_ bytes: ArraySlice<UInt8>, to text: inout [UInt8]) {
        Base64Alphabet.standard.append(bytes, to: &text)
        if bytes.count % 3 > 0 { text.append(contentsOf: bytes.count % 3 == 1 ? [pad, pad] : [pad]) }
    }

    /// Accepts only what ``encode(_:)`` writes: the standard alphabet, full padding, no other characters, unused bits
    /// zero.
    ///
    /// - Parameter maximumBytes: longer input is refused before decoding.
    package static func decode(canonical text: String, maximumBytes: Int) -> [UInt8]? {
        let text = Array(text.utf8)[...]
        let symbols = withoutPadding(text)
        guard text.count <= length(of: maximumBytes), text.count % 4 == 0, text.count - symbols.count <= 2,
            let bytes = Base64Alphabet.standard.decode(symbols), bytes.count <= maximumBytes
        else { return nil }
        return bytes
    }

    /// Accepts the standard alphabet or that of section 5, with full padding or none: no mixture of both alphabets, no
    /// other characters, unused bits zero.
    ///
    /// - Parameter maximumBytes: longer input is refused before decoding.
    package static func decode(_ text: String, maximumBytes: Int) -> [UInt8]? {
        guard text.utf8.count <= length(of: maximumBytes) else { return nil }
        let text = Array(text.utf8)[...]
        let symbols = withoutPadding(text)
        let padding = text.count - symbols.count
        guard padding == 0 || padding <= 2 && text.count % 4 == 0 else { return nil }
        let isURLSafe = symbols.contains { $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_") }
        let alphabet = isURLSafe ? Base64Alphabet.urlSafe : Base64Alphabet.standard
        guard let bytes = alphabet.decode(symbols), bytes.count <= maximumBytes else { return nil }
        return bytes
    }

    private static let pad = UInt8(ascii: "=")

    private static func withoutPadding(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        text[..<((text.lastIndex { $0 != pad } ?? text.startIndex - 1) + 1)]
    }

    private static func length(of byteCount: Int) -> Int { (byteCount + 2) / 3 * 4 }
}

/// base64url without padding (RFC 4648 section 5; RFC 7515 section 2).
package enum Base64URL {
    package static func encode(_ bytes: some Sequence<UInt8>) -> String {
        var text: [UInt8] = []
        append(bytes, to: &text)
        return String(decoding: text, as: UTF8.self)
    }

    package static func append(_ bytes: some Sequence<UInt8>, to text: inout [UInt8]) {
        Base64Alphabet.urlSafe.append(Array(bytes)[...], to: &text)
    }

    /// - Returns: nil for anything but the one text that ``encode(_:)`` writes: no foreign characters, unused bits
    ///   zero.
    package static func decode(_ text: ArraySlice<UInt8>) -> [UInt8]? { Base64Alphabet.urlSafe.decode(text) }

    package static func decode(_ text: String) -> [UInt8]? { decode(Array(text.utf8)[...]) }
}

/// 64 symbols of six bits each. Padding is the caller's.
private struct Base64Alphabet: Sendable {
    private let symbols: [UInt8]
    /// The value of each byte as a symbol.
    private let values: [UInt8]
    private static let foreign: UInt8 = 0xFF

    static let standard = Base64Alphabet(last: "+/")
    static let urlSafe = Base64Alphabet(last: "-_")

    private init(last: String) {
        symbols = Array(("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789" + last).utf8)
        var values = [UInt8](repeating: Self.foreign, count: 256)
        for (value, symbol) in symbols.enumerated() { values[Int(symbol)] = UInt8(value) }
        self.values = values
    }

    /// In whole groups of three bytes, since a session's output passes through here.
    func append(_ bytes: ArraySlice<UInt8>, to text: inout [UInt8]) {
        let whole = bytes.count / 3 * 3
        text.append(addingCapacity: whole / 3 * 4) { text in
            let symbols = symbols.span
            let bytes = bytes.span
            for position in stride(from: 0, to: whole, by: 3) {
                let group = Int(bytes[position]) << 16 | Int(bytes[position + 1]) << 8 | Int(bytes[position + 2])
                text.append(symbols[group >> 18])
                text.append(symbols[group >> 12 & 63])
                text.append(symbols[group >> 6 & 63])
                text.append(symbols[group & 63])
            }
        }
        appendRest(bytes.dropFirst(whole), to: &text)
    }

    /// Appends the last one or two bytes, if any.
    private func appendRest(_ rest: ArraySlice<UInt8>, to text: inout [UInt8]) {
        guard let first = rest.first else { return }
        let second = rest.dropFirst().first
        let group = Int(first) << 16 | Int(second ?? 0) << 8
        text.append(symbols[group >> 18])
        text.append(symbols[group >> 12 & 63])
        if second != nil { text.append(symbols[group >> 6 & 63]) }
    }

    func decode(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        guard text.count % 4 != 1 else { return nil }
        let values = values
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count * 3 / 4)
        var bits: UInt32 = 0
        var pending: UInt32 = 0
        for symbol in text {
            let value = values[Int(symbol)]
            guard value != Self.foreign else { return nil }
            bits = bits << 6 | UInt32(value)
            pending += 6
            if pending >= 8 {
                pending -= 8
                bytes.append(UInt8(truncatingIfNeeded: bits >> pending))
            }
        }
        return bits & (1 << pending - 1) == 0 ? bytes : nil
    }
}
