/// Base64 (RFC 4648 §4), padded, written directly into a frame's buffer.
enum Base64 {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    static func append(_ bytes: ArraySlice<UInt8>, to output: inout [UInt8]) {
        let whole = bytes.count / 3 * 3
        let alphabet = alphabet
        output.append(addingCapacity: whole / 3 * 4) { output in
            let digits = alphabet.span
            let bytes = bytes.span
            for position in stride(from: 0, to: whole, by: 3) {
                let group = Int(bytes[position]) << 16 | Int(bytes[position + 1]) << 8 | Int(bytes[position + 2])
                output.append(digits[group >> 18])
                output.append(digits[group >> 12 & 63])
                output.append(digits[group >> 6 & 63])
                output.append(digits[group & 63])
            }
        }
        appendRest(bytes.dropFirst(whole), alphabet, to: &output)
    }

    /// Appends the last one or two bytes, if any.
    private static func appendRest(_ rest: ArraySlice<UInt8>, _ alphabet: [UInt8], to output: inout [UInt8]) {
        guard let first = rest.first else { return }
        let second = rest.dropFirst().first
        let group = UInt32(first) << 16 | UInt32(second ?? 0) << 8
        output.append(alphabet[Int(group >> 18)])
        output.append(alphabet[Int(group >> 12 & 63)])
        output.append(second == nil ? UInt8(ascii: "=") : alphabet[Int(group >> 6 & 63)])
        output.append(UInt8(ascii: "="))
    }
}
