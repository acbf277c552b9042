/// CHARSET (RFC 2066) as the responder. The gateway never sends a REQUEST and supports no translation tables.
enum Charset {
    private static let request: UInt8 = 1
    private static let accepted: UInt8 = 2
    private static let rejected: UInt8 = 3
    private static let tableIs: UInt8 = 4
    private static let tableRejected: UInt8 = 5

    struct Answer: Equatable {
        let payload: [UInt8]
        /// The encoding of both directions from now on; nil: unchanged.
        var encoding: TextEncoding?
    }

    /// - Parameter tables: an encoding whose tables are missing counts as unknown.
    /// - Returns: nil if no answer is needed.
    static func answer(to payload: [UInt8], tables: (any CharacterTables)? = nil) -> Answer? {
        switch payload.first {
        case request: choice(from: payload.dropFirst()) { $0.requiredSets.isEmpty || tables?.have($0) == true }
        case tableIs: Answer(payload: [tableRejected])
        default: nil
        }
    }

    /// Chooses UTF-8 if it is offered, since players write any script; otherwise the target's first choice, with ASCII
    /// only as a last resort. The name is returned as it was received.
    private static func choice(
        from list: ArraySlice<UInt8>, isAvailable: (TextEncoding) -> Bool
    ) -> Answer {
        let known = names(in: list).compactMap { name in
            TextEncoding(name: String(decoding: name, as: UTF8.self)).map { (name: name, encoding: $0) }
        }
        // Without an offer of UTF-8, only encodings with available tables are considered.
        let offers = known.contains { $0.encoding == .utf8 } ? known : known.filter { isAvailable($0.encoding) }
        let best =
            offers.first { $0.encoding == .utf8 } ?? offers.first { $0.encoding != .ascii } ?? offers.first
        guard let best else { return Answer(payload: [rejected]) }
        return Answer(payload: [accepted] + best.name, encoding: best.encoding)
    }

    /// Both `[TTABLE ]` and the one-byte version are optional; then come a separator and names with that separator
    /// between them.
    private static func names(in list: ArraySlice<UInt8>) -> [ArraySlice<UInt8>] {
        var list = list
        if list.starts(with: "[TTABLE".utf8), let end = list.firstIndex(of: UInt8(ascii: "]")) {
            list = list[(end + 1)...].dropFirst()
        }
        guard let separator = list.popFirst() else { return [] }
        return list.split(separator: separator, maxSplits: maximumNames).prefix(maximumNames).filter {
            $0.count <= maximumNameBytes
        }
    }

    /// The number of names in a request that are examined.
    static let maximumNames = 64
    /// The longest name that is examined: IANA's have at most 40 bytes (RFC 2978).
    static let maximumNameBytes = 40
}
