/// Base64 (RFC 4648 §4), padded, written straight into the buffer of a frame.
enum Base64 {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    static func append(_ bytes: ArraySlice<UInt8>, to output: inout [UInt8]) {
        let alphabet = alphabet
        var position = bytes.startIndex
        while bytes.endIndex - position >= 3 {
            let group = UInt32(bytes[position]) << 16 | UInt32(bytes[position + 1]) << 8 | UInt32(bytes[position + 2])
            output.append(alphabet[Int(group >> 18)])
            output.append(alphabet[Int(group >> 12 & 63)])
            output.append(alphabet[Int(group >> 6 & 63)])
            output.append(alphabet[Int(group & 63)])
            position += 3
        }
        appendRest(bytes[position...], alphabet, to: &output)
    }

    /// One byte or two, or none.
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
