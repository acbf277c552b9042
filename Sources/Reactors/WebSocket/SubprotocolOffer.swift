/// The names in a `Sec-WebSocket-Protocol` header, in the client's order of preference (RFC 6455 §4.1).
enum SubprotocolOffer {
    /// The one that libwebsockets names in its 101: the first that is known.
    static func choose(from header: String?, known: [String]) -> String? {
        (header ?? "").split(separator: ",").lazy.map { String(trimming($0)) }.first(where: known.contains)
    }

    private static func trimming(_ name: Substring) -> Substring {
        let isBlank = { (character: Character) in character == " " || character == "\t" }
        guard let first = name.firstIndex(where: { !isBlank($0) }), let last = name.lastIndex(where: { !isBlank($0) })
        else { return "" }
        return name[first...last]
    }
}
