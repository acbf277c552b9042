/// Records which numbered inputs of a client were applied, so that input sent again after a resume isn't applied twice.
///
/// A sliding window like the anti-replay window of IPsec (RFC 4303 §3.4.3): the highest number, and a bit for each of
/// the last ``windowSize`` numbers. Older numbers count as applied.
struct InputLedger: Codable, Sendable {
    static let windowSize: UInt64 = 1_024

    /// 0: none yet.
    private(set) var highest: UInt64 = 0
    /// One bit for each number, indexed by its remainder; allocated with the first number, as most sessions have none.
    private var bits: [UInt64] = []

    /// One that another process has written has the form that this one relies on.
    var isSound: Bool { bits.isEmpty ? highest == 0 : bits.count == Int(Self.windowSize / 64) }

    /// - Parameter cid: from 1.
    func contains(_ cid: UInt64) -> Bool {
        if cid > highest { return false }
        if highest - cid >= Self.windowSize { return true }
        return bits[word(cid)] & bit(cid) != 0
    }

    mutating func insert(_ cid: UInt64) {
        if bits.isEmpty { bits = Array(repeating: 0, count: Int(Self.windowSize / 64)) }
        if cid > highest {
            advance(to: cid)
        } else if highest - cid >= Self.windowSize {
            return
        }
        bits[word(cid)] |= bit(cid)
    }

    /// Numbers that enter the window haven't been applied.
    private mutating func advance(to cid: UInt64) {
        if cid - highest >= Self.windowSize {
            for index in bits.indices { bits[index] = 0 }
        } else {
            for skipped in highest + 1...cid { bits[word(skipped)] &= ~bit(skipped) }
        }
        highest = cid
    }

    private func word(_ cid: UInt64) -> Int { Int(cid % Self.windowSize / 64) }
    private func bit(_ cid: UInt64) -> UInt64 { 1 << (cid % 64) }
}
