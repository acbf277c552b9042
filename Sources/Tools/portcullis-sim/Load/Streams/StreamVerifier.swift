import Glibc

/// A fault of a stream, with its number of bytes.
enum StreamFault: Hashable, Sendable {
    /// These bytes are missing; the stream went on after them.
    case lost(UInt64)
    /// These bytes had arrived before.
    case doubled(UInt64)
    /// These bytes don't occur anywhere near.
    case corrupt(UInt64)
    /// The announced gap is wrong by this many bytes.
    case wrongGap(UInt64)
}

/// Compares received bytes with the pattern.
///
/// At a mismatch it searches for the next `evidenceBytes` before and after the position. It can therefore tell missing
/// bytes from repeated ones (a reordering is one followed by the other), and continues at the place found.
struct StreamVerifier: Sendable {
    /// Long enough not to occur elsewhere by chance, even in text, which has six bits per byte.
    static let evidenceBytes = 24
    /// The distances of the search, the first and the last.
    static let windows: [UInt64] = [8_192, 1 << 20]
    /// The limit of searches per stream: after so many faults further searches only take time.
    static let maximumSearches = 10

    let pattern: StreamPattern
    /// The position of the next byte; everything before it is accounted for.
    private(set) var position: UInt64
    /// Bytes that arrived once and in their place.
    private(set) var verified: UInt64 = 0
    private var evidence: [UInt8] = []
    /// The end of the last announced gap.
    private var gapEnd: UInt64?
    private var searches = 0

    init(_ pattern: StreamPattern, from position: UInt64 = 0) {
        self.pattern = pattern
        self.position = position
    }

    /// - Returns: empty if there is no fault.
    mutating func receive(_ bytes: UnsafeRawBufferPointer) -> [StreamFault] {
        if evidence.isEmpty {
            let match = matching(bytes)
            advance(match)
            if match == bytes.count { return [] }
            return suspect(bytes[match...])
        }
        return suspect(bytes[...])
    }

    /// The peer announced that this many bytes won't arrive.
    ///
    /// - Returns: the fault of bytes before the gap that were still undecided.
    mutating func skip(_ count: UInt64) -> [StreamFault] {
        defer {
            position += count
            gapEnd = position
        }
        return finish()
    }

    /// A position beyond `end` is always a fault: the stream can't have got there.
    func excess(over end: UInt64) -> StreamFault? {
        guard position > end else { return nil }
        return gapEnd == position ? .wrongGap(position - end) : .doubled(position - end)
    }

    /// The stream has ended: undecided bytes are one more fault.
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

    /// The number of leading bytes that match.
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

    /// The bytes don't match. Collects evidence, and judges it when there is enough.
    private mutating func suspect(_ rest: Slice<UnsafeRawBufferPointer>) -> [StreamFault] {
        guard searches < Self.maximumSearches else {
            position += UInt64(rest.count)
            return [.corrupt(UInt64(rest.count))]
        }
        let needed = Self.evidenceBytes - evidence.count
        evidence.append(contentsOf: rest.prefix(needed))
        guard evidence.count == Self.evidenceBytes else { return [] }
        let fault = judge(evidence)
        // One wrong byte is skipped in place; the bytes after it may be right.
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

    /// The first bytes after a gap may match by chance, as those of a numbered line do.
    private func isBehindGap(_ place: UInt64) -> Bool {
        guard let gapEnd else { return false }
        return (gapEnd..<gapEnd + UInt64(Self.evidenceBytes)).contains(place)
    }

    /// Some bytes changed in place, so no search is needed.
    private func isMostlyRight(_ gathered: [UInt8]) -> Bool {
        let expected = pattern.bytes(position..<position + UInt64(gathered.count))
        return zip(expected, gathered).count { $0 == $1 } * 2 > gathered.count
    }

    /// The nearest position that contains the bytes; later positions are searched first.
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
