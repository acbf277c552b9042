/// The proofs that were used and haven't expired. A value; ``MemoryReplayStore`` holds its lock. All times are whole
/// seconds since 1970.
///
/// There is one list for each second in which proofs expire. Each call drops a few expired ones, so no call takes long.
struct SpentProofs {
    /// The number of expired proofs that one call drops. More than one, so that a full store empties.
    static let forgottenPerCall = 16
    /// A key may use this fraction of the remaining room, so that a busy key is limited before the store is full.
    static let shareOfRoom = 16

    private struct Entry {
        let identity, key: ShortHash
    }

    private let maximum, maximumPerKey: Int
    private var identities: Set<ShortHash> = []
    private var countByKey: [ShortHash: Int] = [:]
    private var entriesBySecond: [Int64: [Entry]] = [:]
    /// The lowest of these seconds.
    private var oldest: Int64?
    /// Proofs that expire in this second or earlier may have been dropped. If the clock is set back, they must not
    /// count as new.
    private var forgottenThrough = Int64.min

    init(maximum: Int, maximumPerKey: Int) { (self.maximum, self.maximumPerKey) = (maximum, maximumPerKey) }

    var count: Int { identities.count }

    /// - Parameter life: nil: there was none before.
    mutating func spend(_ use: ProofUse, at now: Int64, in life: ReplayLife? = nil) -> ReplaySpending {
        forgetExpired(at: now)
        if let refusal = refusal(of: use, at: now, in: life) { return refusal }
        guard count < maximum else { return .full }
        let share = max(1, min(maximumPerKey, (maximum - count) / Self.shareOfRoom))
        guard countByKey[use.keyHash, default: 0] < share else { return .keyLimit }
        insert(use)
        return .spent
    }

    /// Why the proof can't be spent, apart from a lack of room; nil: it can.
    func refusal(of use: ProofUse, at now: Int64, in life: ReplayLife?) -> ReplaySpending? {
        guard use.expires >= now, use.expires > forgottenThrough else { return .undecidable }
        guard !identities.contains(use.identityHash) else { return .replayed }
        return life?.excludesEarlierUse(of: use) == false ? .perhapsInEarlierLife : nil
    }

    private mutating func insert(_ use: ProofUse) {
        insert(Entry(identity: use.identityHash, key: use.keyHash), expires: use.expires)
    }

    private mutating func insert(_ entry: Entry, expires: Int64) {
        guard identities.insert(entry.identity).inserted else { return }
        countByKey[entry.key, default: 0] += 1
        entriesBySecond[expires, default: []].append(entry)
        oldest = min(oldest ?? expires, expires)
    }

    // MARK: To another process

    /// What the process that replaces this one must refuse.
    var carried: CarriedProofs {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count * CarriedProofs.entryBytes)
        for (second, entries) in entriesBySecond {
            for entry in entries {
                bytes += ShortHash.bytes(of: UInt64(bitPattern: second)) + entry.identity.bytes + entry.key.bytes
            }
        }
        return CarriedProofs(forgottenThrough: forgottenThrough, proofs: bytes)
    }

    /// Takes over all proofs, also beyond the maximum: to forget one would be to accept it again. What an earlier
    /// process may have forgotten is exactly what that one says.
    mutating func restore(_ carried: CarriedProofs) throws(MalformedCarriedProofs) {
        guard carried.proofs.count.isMultiple(of: CarriedProofs.entryBytes) else { throw MalformedCarriedProofs() }
        forgottenThrough = carried.forgottenThrough
        for start in stride(from: 0, to: carried.proofs.count, by: CarriedProofs.entryBytes) {
            let entry = Array(carried.proofs[start..<start + CarriedProofs.entryBytes])
            let second = entry.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            insert(
                Entry(identity: ShortHash(Array(entry[8..<24])), key: ShortHash(Array(entry[24...]))),
                expires: Int64(bitPattern: second))
        }
    }

    private mutating func forgetExpired(at now: Int64) {
        for _ in 0..<Self.forgottenPerCall {
            guard let second = oldest, second < now else { return }
            forgottenThrough = max(forgottenThrough, second)
            forgetOne(of: second)
        }
    }

    private mutating func forgetOne(of second: Int64) {
        guard let entry = entriesBySecond[second]?.popLast() else {
            entriesBySecond[second] = nil
            oldest = entriesBySecond.keys.min()
            return
        }
        identities.remove(entry.identity)
        guard let count = countByKey[entry.key], count > 1 else { return countByKey[entry.key] = nil }
        countByKey[entry.key] = count - 1
    }
}

/// Used proofs on their way to the process that replaces this one: 40 bytes each, the second in which it expires, its
/// identity and its key.
package struct CarriedProofs: Codable, Sendable {
    static let entryBytes = 40

    let forgottenThrough: Int64
    let proofs: [UInt8]
}

package struct MalformedCarriedProofs: Error {}
