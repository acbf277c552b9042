import Testing

@testable import Reactors

@Suite struct UTF8ValidatorTests {
    private static func verdict(_ bytes: [UInt8], cutAt cut: Int? = nil) -> Bool {
        var validator = UTF8Validator()
        let pieces = cut.map { [bytes[..<$0], bytes[$0...]] } ?? [bytes[...]]
        let accepted = pieces.allSatisfy { piece in piece.withUnsafeBytes { validator.accepts($0) } }
        return accepted && validator.isComplete
    }

    /// The standard library's own decoder is the judge.
    private static func isUTF8(_ bytes: [UInt8]) -> Bool {
        String(validating: bytes, as: UTF8.self) != nil
    }

    @Test func everySequenceOfTwoBytesIsJudgedAsTheStandardLibraryDoes() {
        for first in UInt8.min...UInt8.max {
            for second in UInt8.min...UInt8.max {
                let bytes = [first, second]
                #expect(Self.verdict(bytes) == Self.isUTF8(bytes), "\(bytes)")
            }
        }
    }

    @Test func theEdgesOfLongerSequencesAreJudgedAsTheStandardLibraryDoes() {
        let edges: [UInt8] = [0x00, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xFF]
        for first in UInt8(0xE0)...0xFF {
            for second in edges {
                for third in edges {
                    #expect(Self.verdict([first, second, third]) == Self.isUTF8([first, second, third]))
                    for fourth in edges {
                        let bytes = [first, second, third, fourth]
                        #expect(Self.verdict(bytes) == Self.isUTF8(bytes), "\(bytes)")
                    }
                }
            }
        }
    }

    @Test func whereTheBytesAreCutMakesNoDifference() {
        let good = Array("aé€😀\u{10FFFF}z".utf8)
        let bad = good + [0xED, 0xA0, 0x80]
        for cut in 0...good.count {
            #expect(Self.verdict(good, cutAt: cut))
            #expect(!Self.verdict(bad, cutAt: cut))
        }
    }

    @Test func aCharacterThatIsNotFinishedIsNotComplete() {
        #expect(!Self.verdict([0xE2, 0x82]))
    }
}
