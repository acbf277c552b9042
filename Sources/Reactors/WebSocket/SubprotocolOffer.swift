/// The names in a `Sec-WebSocket-Protocol` header, in the client's order of preference (RFC 6455 §4.1).
enum SubprotocolOffer {
    /// The one that libwebsockets names in its 101: the first that is known.
    static func choose(from header: String?, known: [String]) -> String? {
        (header ?? "").utf8.split(separator: UInt8(ascii: ",")).lazy.map(trimming).first(where: known.contains)
    }

    private static func trimming(_ name: Substring.UTF8View) -> String {
        let isBlank = { (byte: UInt8) in byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
        var name = name.drop(while: isBlank)
        while let last = name.last, isBlank(last) { name.removeLast() }
        return String(Substring(name))
    }
}
