/// What a session keeps for its client, on its way to another process. The ring is written out in order; it grows anew
/// there.
extension ReplayBuffer: Codable {
    private enum CodingKeys: CodingKey {
        case numbering, maximumBytes, seq, letGo, kinds, sizes, payloads, lost
    }

    /// Everything that the buffer's arithmetic relies on is checked.
    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let maximumBytes = try container.decode(Int.self, forKey: .maximumBytes)
        guard maximumBytes >= 0 else { throw CarriedStateFault() }
        self.init(numbering: try container.decode(Numbering.self, forKey: .numbering), maximumBytes: maximumBytes)
        seq = try container.decode(UInt64.self, forKey: .seq)
        letGo = try container.decode(UInt64.self, forKey: .letGo)
        lost = try container.decode(LostSizes.self, forKey: .lost)
        let kinds = try container.decode([UInt8].self, forKey: .kinds)
        let sizes = try Self.sizes(try container.decode([UInt8].self, forKey: .sizes))
        let payloads = try container.decode([UInt8].self, forKey: .payloads)
        try fill(kinds, sizes, payloads)
    }

    private mutating func fill(_ kinds: [UInt8], _ sizes: [UInt32], _ payloads: [UInt8]) throws {
        let total = sizes.reduce(UInt64(0)) { $0 + UInt64($1) }
        guard kinds.count == sizes.count, kinds.count <= maximumMessages, total == UInt64(payloads.count),
            payloads.count <= maximumBytes, letGo <= seq,
            seq - letGo == (numbering == .bytes ? total : UInt64(kinds.count))
        else { throw CarriedStateFault() }
        for (kind, size) in zip(kinds, sizes) {
            guard let kind = KeptMessage.Kind(rawValue: kind) else { throw CarriedStateFault() }
            records.append(Record(size: size, kind: kind))
        }
        if !payloads.isEmpty { write(payloads[...]) }
    }

    /// Four bytes a message, the highest first: one value, however many messages there are.
    private static func bytes(of size: UInt32) -> [UInt8] {
        stride(from: UInt32(24), through: 0, by: -8).map { UInt8(truncatingIfNeeded: size >> $0) }
    }

    private static func sizes(_ bytes: [UInt8]) throws -> [UInt32] {
        guard bytes.count.isMultiple(of: 4) else { throw CarriedStateFault() }
        return stride(from: 0, to: bytes.count, by: 4).map { start in
            bytes[start..<start + 4].reduce(0) { $0 << 8 | UInt32($1) }
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(numbering, forKey: .numbering)
        try container.encode(maximumBytes, forKey: .maximumBytes)
        try container.encode(seq, forKey: .seq)
        try container.encode(letGo, forKey: .letGo)
        try container.encode(lost, forKey: .lost)
        try container.encode(records.map(\.kind.rawValue), forKey: .kinds)
        try container.encode(records.flatMap { Self.bytes(of: $0.size) }, forKey: .sizes)
        try container.encode(Array(payloads), forKey: .payloads)
    }
}

extension KeptMessage: Codable {
    private enum CodingKeys: CodingKey {
        case kind, seq, payload
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        kind = try container.decode(Kind.self, forKey: .kind)
        seq = try container.decode(UInt64.self, forKey: .seq)
        payload = try container.decode([UInt8].self, forKey: .payload)[...]
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(kind, forKey: .kind)
        try container.encode(seq, forKey: .seq)
        try container.encode(Array(payload), forKey: .payload)
    }
}

/// A state that another process has written isn't one that this process could have.
struct CarriedStateFault: Error {}
