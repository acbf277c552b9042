import Glibc

/// What is wrong with a stream, in bytes.
enum StreamFault: Hashable, Sendable {
    /// The stream went on behind them.
    case lost(UInt64)
    /// They had come before.
    case doubled(UInt64)
    /// They belong nowhere near.
    case corrupt(UInt64)
    /// So many fewer or more were announced as gone than are.
    case wrongGap(UInt64)
}

/// Compares what arrives with what the pattern says, byte by byte.
///
/// Where something else comes, the next `evidenceBytes` are looked for before and behind the place: so it can tell bytes that are missing
/// from ones that came twice (a reordering is one and then the other), and goes on where the stream goes on.
struct StreamVerifier: Sendable {
    /// Enough that no other place has the same by chance, also of text, which has six bits a byte.
    static let evidenceBytes = 24
    /// How far around the place is looked, first and at last.
    static let windows: [UInt64] = [8_192, 1 << 20]
    /// After so many faults nobody needs to know more of this stream: looking for each would only take time.
    static let maximumSearches = 10

    let pattern: StreamPattern
    /// Where the next byte belongs; everything before has been accounted for.
    private(set) var position: UInt64
    /// Bytes that came once and in their place.
    private(set) var verified: UInt64 = 0
    private var evidence: [UInt8] = []
    /// Where the last announced gap ends.
    private var gapEnd: UInt64?
    private var searches = 0

    init(_ pattern: StreamPattern, from position: UInt64 = 0) {
        self.pattern = pattern
        self.position = position
    }

    /// - Returns: nothing, if all is well.
    mutating func receive(_ bytes: UnsafeRawBufferPointer) -> [StreamFault] {
        if evidence.isEmpty {
            let match = matching(bytes)
            advance(match)
            if match == bytes.count { return [] }
            return suspect(bytes[match...])
        }
        return suspect(bytes[...])
    }

    /// The peer has said that so many bytes won't come.
    ///
    /// - Returns: what was still being looked at before them.
    mutating func skip(_ count: UInt64) -> [StreamFault] {
        defer {
            position += count
            gapEnd = position
        }
        return finish()
    }

    /// Nothing is right about a place beyond `end`, where the stream can't have got to.
    func excess(over end: UInt64) -> StreamFault? {
        guard position > end else { return nil }
        return gapEnd == position ? .wrongGap(position - end) : .doubled(position - end)
    }

    /// The stream has ended: what was still being looked at is one fault more.
    mutating func finish() -> [StreamFault] {
        defer { evidence = [] }
        let count = UInt64(evidence.count)
        guard count > 0 else { return [] }
        let isRepeated = count <= position && pattern.bytes(position - count..<position) == evidence
        return [isRepeated ? .doubled(count) : .corrupt(count)]
    }

    private mutating func advance(_ count: Int) {
        position += UInt64(count)
        verified += UInt64(count)
    }

    /// How many bytes from the beginning are right.
    private func matching(_ bytes: UnsafeRawBufferPointer) -> Int {
        let blockBytes = 4_096
        return withUnsafeTemporaryAllocation(byteCount: min(blockBytes, max(bytes.count, 1)), alignment: 8) { block in
            var done = 0
            while done < bytes.count {
                let count = min(block.count, bytes.count - done)
                let expected = UnsafeMutableRawBufferPointer(rebasing: block[..<count])
                let actual = UnsafeRawBufferPointer(rebasing: bytes[done..<done + count])
                pattern.fill(expected, from: position + UInt64(done))
                if memcmp(expected.baseAddress!, actual.baseAddress!, count) != 0 {
                    let same = zip(expected, actual).prefix { $0 == $1 }.count
                    return done + same
                }
                done += count
            }
            return done
        }
    }

    /// Something else came. Gathers evidence, and judges it when there is enough.
    private mutating func suspect(_ rest: Slice<UnsafeRawBufferPointer>) -> [StreamFault] {
        guard searches < Self.maximumSearches else {
            position += UInt64(rest.count)
            return [.corrupt(UInt64(rest.count))]
        }
        let needed = Self.evidenceBytes - evidence.count
        evidence.append(contentsOf: rest.prefix(needed))
        guard evidence.count == Self.evidenceBytes else { return [] }
        let fault = judge(evidence)
        // One wrong byte is passed over where it stands; what follows it may be right again.
        let skipped = if case .corrupt = fault { 1 } else { 0 }
        let remaining = Array(evidence.dropFirst(skipped)) + rest.dropFirst(needed)
        evidence = []
        return [fault] + remaining.withUnsafeBytes { receive($0) }
    }

    private mutating func judge(_ gathered: [UInt8]) -> StreamFault {
        searches += 1
        guard !isMostlyRight(gathered), let place = find(gathered) else {
            position += 1
            return .corrupt(1)
        }
        let from = position
        position = place
        if isBehindGap(from) { return .wrongGap(place > from ? place - from : from - place) }
        guard place < from else { return .lost(place - from) }
        verified -= min(verified, from - place)
        return .doubled(from - place)
    }

    /// The first bytes behind a gap may look right by chance, as those of a numbered line do.
    private func isBehindGap(_ place: UInt64) -> Bool {
        guard let gapEnd else { return false }
        return (gapEnd..<gapEnd + UInt64(Self.evidenceBytes)).contains(place)
    }

    /// Some bytes have changed where they stand: nothing to look for.
    private func isMostlyRight(_ gathered: [UInt8]) -> Bool {
        let expected = pattern.bytes(position..<position + UInt64(gathered.count))
        return zip(expected, gathered).count { $0 == $1 } * 2 > gathered.count
    }

    /// The nearest place that the bytes belong to, first behind this one.
    private func find(_ gathered: [UInt8]) -> UInt64? {
        Self.windows.lazy.compactMap { find(gathered, window: $0) }.first
    }

    private func find(_ gathered: [UInt8], window: UInt64) -> UInt64? {
        let before = position > window ? position - window : 0
        let behind = pattern.bytes(position..<position + window)
        if let index = behind.firstIndex(of: gathered) { return position + UInt64(index) }
        let earlier = pattern.bytes(before..<position + UInt64(gathered.count))
        if let index = earlier.lastIndex(of: gathered) { return before + UInt64(index) }
        return nil
    }
}

extension [UInt8] {
    fileprivate func firstIndex(of part: [UInt8]) -> Int? {
        guard count >= part.count else { return nil }
        return (0...count - part.count).first { matches(part, at: $0) }
    }

    fileprivate func lastIndex(of part: [UInt8]) -> Int? {
        guard count >= part.count else { return nil }
        return (0...count - part.count).last { matches(part, at: $0) }
    }

    private func matches(_ part: [UInt8], at index: Int) -> Bool {
        self[index] == part[0] && self[index..<index + part.count].elementsEqual(part)
    }
}
