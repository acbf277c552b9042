import Testing

@testable import StateCoding

@Suite("A state") struct StateCodingTests {
    private enum Shape: Codable, Equatable {
        case none
        case one(Int)
        case named(size: UInt8, text: String?)
    }

    private struct Sample: Codable, Equatable {
        var small: Int8 = -128
        var smallest = Int64.min
        var largest = UInt64.max
        var isOn = true
        var ratio = -0.25
        var text = "Zwölf Boxkämpfer 🥊"
        var bytes: [UInt8] = [0, 255, 7]
        var nothing: Int?
        var shapes: [Shape] = [.none, .one(-1), .named(size: 7, text: nil), .named(size: 255, text: "")]
        var byNumber: [UInt64: Set<Int>] = [3: [1, 2], 0: []]
        var nested: [[UInt8]] = [[], [1], [2, 3]]
    }

    @Test func `is the same after it has crossed`() throws {
        let sample = Sample()
        #expect(try StateDecoder.decode(Sample.self, from: try StateEncoder.bytes(of: sample)) == sample)
    }

    @Test func `of whoever may claim anything has ASCII text only, on demand`() throws {
        let (plain, other) = (try StateEncoder.bytes(of: "a~"), try StateEncoder.bytes(of: "a\u{301}"))
        #expect(try StateDecoder.decode(String.self, from: plain, demandsASCII: true) == "a~")
        #expect(throws: StateFault.malformed) { try StateDecoder.decode(String.self, from: other, demandsASCII: true) }
        #expect(try StateDecoder.decode(String.self, from: other) == "a\u{301}")
    }

    @Test func `has bytes as one value and not as a list of numbers`() throws {
        let bytes = [UInt8](repeating: 200, count: 10_000)
        #expect(try StateEncoder.bytes(of: bytes).count < 10_010)
    }

    @Test func `cut off at any byte isn't a state`() throws {
        let bytes = try StateEncoder.bytes(of: Sample())
        for count in 0..<bytes.count {
            #expect(throws: StateFault.self) { try StateReader.read(Array(bytes.prefix(count))) }
        }
        #expect(throws: StateFault.length) { try StateReader.read(bytes + [0]) }
    }

    @Test func `with a value of another kind or out of range is refused`() throws {
        func refuses<Value: Codable>(_ type: Value.Type, _ other: some Encodable) {
            #expect(throws: StateFault.mismatch) {
                try StateDecoder.decode(type, from: try StateEncoder.bytes(of: other))
            }
        }
        refuses(UInt8.self, 256)
        refuses(UInt8.self, -1)
        refuses(Int64.self, UInt64.max)
        refuses(String.self, 1)
        refuses(Bool.self, "true")
        refuses([UInt8].self, "bytes")
        refuses([Int].self, [1: "one"].mapValues { $0 + "!" })
        refuses(Sample.self, ["small": 1])
        #expect(throws: (any Error).self) {
            try StateDecoder.decode(Shape.self, from: try StateEncoder.bytes(of: ["other": 1]))
        }
    }

    @Test func `has one form only`() {
        // 5 in two bytes, an unknown kind, a name twice, text that isn't UTF-8, a number of more than 64 bits.
        for bytes: [UInt8] in [
            [3, 0x85, 0], [10], [9, 2, 1, 97, 0, 1, 97, 0], [6, 1, 0xFF],
            [3, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 2],
        ] {
            #expect(throws: StateFault.malformed) { try StateReader.read(bytes) }
        }
        #expect(throws: Never.self) {
            try StateReader.read([3, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1])
        }
    }

    @Test func `is read to a depth and a number of values, and not beyond`() throws {
        func nested(_ depth: Int) -> [UInt8] { (0..<depth).flatMap { _ in [UInt8(8), 1] } + [0] }
        #expect(throws: Never.self) { try StateReader.read(nested(StateLimits.maximumDepth)) }
        #expect(throws: StateFault.limit) { try StateReader.read(nested(StateLimits.maximumDepth + 1)) }
        func wide(_ count: Int) -> [UInt8] {
            StateWriter.write(.list([StateValue](repeating: .null, count: count)))
        }
        #expect(throws: Never.self) { try StateReader.read(wide(StateLimits.maximumValues - 1)) }
        #expect(throws: StateFault.limit) { try StateReader.read(wide(StateLimits.maximumValues)) }
        func named(_ count: Int) -> [UInt8] {
            StateWriter.write(.map([StateMember(String(repeating: "n", count: count), .null)]))
        }
        #expect(throws: Never.self) { try StateReader.read(named(StateLimits.maximumNameBytes)) }
        #expect(throws: StateFault.limit) { try StateReader.read(named(StateLimits.maximumNameBytes + 1)) }
    }

    @Test func `that claims more than its bytes hold takes no memory for it`() {
        for kind: UInt8 in [6, 7, 8, 9] {
            #expect(throws: StateFault.length) { try StateReader.read([kind, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F]) }
        }
    }
}
