/// CHARSET (RFC 2066), as the side that is asked. The gateway never sends a REQUEST, and knows no translation tables.
enum Charset {
    private static let request: UInt8 = 1
    private static let accepted: UInt8 = 2
    private static let rejected: UInt8 = 3
    private static let tableIs: UInt8 = 4
    private static let tableRejected: UInt8 = 5

    struct Answer: Equatable {
        let payload: [UInt8]
        /// What both directions use from now on; nil: as before.
        var encoding: TextEncoding?
    }

    /// - Parameter tables: an encoding whose tables aren't there isn't known.
    /// - Returns: nil for what wants no answer.
    static func answer(to payload: [UInt8], tables: (any CharacterTables)? = nil) -> Answer? {
        switch payload.first {
        case request: choice(from: payload.dropFirst()) { $0.requiredSets.isEmpty || tables?.have($0) == true }
        case tableIs: Answer(payload: [tableRejected])
        default: nil
        }
    }

    /// UTF-8 where it is offered, since players write anything; otherwise what the target likes best, ASCII only as the last resort.
    /// The name goes back as it came.
    private static func choice(
        from list: ArraySlice<UInt8>, isAvailable: (TextEncoding) -> Bool
    ) -> Answer {
        let known = names(in: list).compactMap { name in
            TextEncoding(name: String(decoding: name, as: UTF8.self)).map { (name: name, encoding: $0) }
        }
        // Tables are looked for only where the target wants them most.
        let offers = known.contains { $0.encoding == .utf8 } ? known : known.filter { isAvailable($0.encoding) }
        let best =
            offers.first { $0.encoding == .utf8 } ?? offers.first { $0.encoding != .ascii } ?? offers.first
        guard let best else { return Answer(payload: [rejected]) }
        return Answer(payload: [accepted] + best.name, encoding: best.encoding)
    }

    /// `[TTABLE ]`, a version of one byte, both optional; then a separator and names with that separator between them.
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

    /// Names of a request that are looked at.
    static let maximumNames = 64
    /// The longest name that is looked at: IANA's have at most 40 bytes (RFC 2978).
    static let maximumNameBytes = 40
}
