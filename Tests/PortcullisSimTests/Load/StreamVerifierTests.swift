import Testing

@testable import portcullis_sim

struct StreamVerifierTests {
    private static let pattern = StreamPattern.text(seed: 42)
    private static let stream = pattern.bytes(0..<2_000)

    private static func faults(of bytes: [UInt8], cutAt cut: Int? = nil) -> (faults: [StreamFault], position: UInt64) {
        var verifier = StreamVerifier(pattern)
        let pieces = cut.map { [bytes[..<$0], bytes[$0...]] } ?? [bytes[...]]
        var faults: [StreamFault] = []
        for piece in pieces { faults += Array(piece).withUnsafeBytes { verifier.receive($0) } }
        return (faults + verifier.finish(), verifier.position)
    }

    /// Everywhere around the place where the tests below damage the stream, and now and then elsewhere.
    private static func cuts(_ count: Int) -> [Int] {
        Array(stride(from: 0, through: count, by: 17)) + Array(480..<520)
    }

    @Test func `a complete stream is accepted however it is split`() {
        for cut in Self.cuts(Self.stream.count) {
            let result = Self.faults(of: Self.stream, cutAt: cut)
            #expect(result.faults.isEmpty)
            #expect(result.position == 2_000)
        }
    }

    @Test(arguments: [1, 2, 64, 900])
    func `missing bytes are counted as lost, wherever the stream is split`(count: Int) {
        let bytes = Array(Self.stream[..<500] + Self.stream[(500 + count)...])
        for cut in Self.cuts(bytes.count) {
            #expect(Self.faults(of: bytes, cutAt: cut).faults == [.lost(UInt64(count))])
        }
    }

    @Test(arguments: [1, 2, 64, 500])
    func `repeated bytes are counted as duplicates, wherever the stream is split`(count: Int) {
        let bytes = Array(Self.stream[..<500] + Self.stream[(500 - count)...])
        for cut in Self.cuts(bytes.count) {
            let result = Self.faults(of: bytes, cutAt: cut)
            #expect(result.faults == [.doubled(UInt64(count))])
            #expect(result.position == 2_000)
        }
    }

    @Test func `two pieces in the wrong order are detected`() {
        let bytes = Array(Self.stream[..<500] + Self.stream[600..<700] + Self.stream[500..<600] + Self.stream[700...])
        let faults = Self.faults(of: bytes).faults
        #expect(faults.contains(.lost(100)))
        #expect(faults.contains(.doubled(200)))
    }

    @Test func `each wrong byte is corrupt`() {
        for index in stride(from: 0, to: 1_900, by: 97) {
            var bytes = Self.stream
            bytes[index] ^= 0x80
            let result = Self.faults(of: bytes)
            #expect(result.faults == [.corrupt(1)])
            #expect(result.position == 2_000)
        }
    }

    @Test func `a stream of nonsense is judged in bounded time`() {
        let nonsense = StreamPattern.bytes(seed: 9).bytes(0..<60_000)
        var verifier = StreamVerifier(Self.pattern)
        let faults = nonsense.withUnsafeBytes { verifier.receive($0) } + verifier.finish()
        let corrupt = faults.reduce(UInt64(0)) { sum, fault in
            if case .corrupt(let count) = fault { sum + count } else { sum }
        }
        #expect(corrupt == 60_000)
        #expect(faults.count <= StreamVerifier.maximumSearches + 1)
    }

    @Test func `data too short to be judged is corrupt at the end`() {
        let bytes = Self.stream[..<100] + [0, 1, 2]
        #expect(Self.faults(of: Array(bytes)).faults == [.corrupt(3)])
    }

    @Test func `a repeated end is a duplicate`() {
        let bytes = Self.stream[..<100] + Self.stream[93..<100]
        #expect(Self.faults(of: Array(bytes)).faults == [.doubled(7)])
    }

    @Test func `an announced gap is no fault`() {
        var verifier = StreamVerifier(Self.pattern)
        _ = Self.stream[..<100].withUnsafeBytes { verifier.receive($0) }
        #expect(verifier.skip(50).isEmpty)
        #expect(Self.stream[150...].withUnsafeBytes { verifier.receive($0) }.isEmpty)
        #expect(verifier.verified == 1_950)
    }

    @Test(arguments: [-50, -1, 1, 60])
    func `a gap of another size than the lost bytes is wrong`(difference: Int) {
        var verifier = StreamVerifier(Self.pattern)
        _ = Self.stream[..<300].withUnsafeBytes { verifier.receive($0) }
        #expect(verifier.skip(UInt64(200 + difference)).isEmpty)
        let faults = Self.stream[500...].withUnsafeBytes { verifier.receive($0) }
        #expect(faults == [.wrongGap(UInt64(abs(difference)))])
        #expect(verifier.position == 2_000)
    }

    /// Each line begins with many zeros, so the position after the gap looks right at first.
    @Test(arguments: [-64, -3, 1, 5, 128])
    func `a wrong gap in numbered lines is reported, too`(difference: Int) {
        let lines = StreamPattern.numbered.bytes(0..<6_400)
        var verifier = StreamVerifier(.numbered)
        _ = lines[..<640].withUnsafeBytes { verifier.receive($0) }
        _ = verifier.skip(UInt64(1_280 + difference))
        let faults = lines[1_920...].withUnsafeBytes { verifier.receive($0) }
        #expect(faults == [.wrongGap(UInt64(abs(difference)))])
    }

    @Test func `loss after a gap isn't attributed to the gap`() {
        var verifier = StreamVerifier(Self.pattern)
        _ = verifier.skip(100)
        let bytes = Array(Self.stream[100..<200] + Self.stream[210...])
        #expect(bytes.withUnsafeBytes { verifier.receive($0) } == [.lost(10)])
    }

    @Test func `a gap beyond the end of the stream is wrong`() {
        var verifier = StreamVerifier(Self.pattern)
        _ = Self.stream[..<100].withUnsafeBytes { verifier.receive($0) }
        _ = verifier.skip(60)
        #expect(verifier.excess(over: 160) == nil)
        #expect(verifier.excess(over: 150) == .wrongGap(10))
    }
}
