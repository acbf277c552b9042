import Crypto
import Foundation
import StrictDER
import Testing

@testable import AppAttest

@Suite("A signature in DER")
struct SignatureDERTests {
    /// swift-crypto's result for the same bytes; nil if it would encode them differently.
    private func judged(_ bytes: [UInt8]) -> [UInt8]? {
        guard let signature = try? P256.Signing.ECDSASignature(derRepresentation: bytes),
            signature.derRepresentation.elementsEqual(bytes)
        else { return nil }
        return [UInt8](signature.rawRepresentation)
    }

    private func encoded(_ r: [UInt8], _ s: [UInt8]) -> [UInt8] {
        let numbers = [0x02, UInt8(r.count)] + r + [0x02, UInt8(s.count)] + s
        return [0x30, UInt8(numbers.count)] + numbers
    }

    @Test func `is read as swift-crypto reads it, whatever one byte of it is, and wherever it is cut`() throws {
        let key = P256.Signing.PrivateKey()
        for round in 0..<4 {
            let bytes = [UInt8](try key.signature(for: [UInt8(round)]).derRepresentation)
            #expect(SignatureDER.rawRepresentation(of: bytes) != nil)
            for place in bytes.indices {
                for value in UInt8.min ... .max {
                    var changed = bytes
                    changed[place] = value
                    #expect(SignatureDER.rawRepresentation(of: changed) == judged(changed))
                }
                #expect(SignatureDER.rawRepresentation(of: Array(bytes.prefix(place))) == nil)
            }
            #expect(SignatureDER.rawRepresentation(of: bytes + [0]) == nil)
        }
    }

    @Test func `has numbers of 1 to 32 bytes, each in its shortest form`() {
        let ones = [UInt8](repeating: 1, count: 33)
        for length in 1...33 {
            let bytes = encoded(Array(ones.prefix(length)), [5])
            #expect(SignatureDER.rawRepresentation(of: bytes) == judged(bytes))
            #expect((SignatureDER.rawRepresentation(of: bytes) != nil) == (length <= 32))
        }
        let large = [0] + [UInt8](repeating: 0xFF, count: 32)
        #expect(SignatureDER.rawRepresentation(of: encoded(large, large)) == [UInt8](repeating: 0xFF, count: 64))
        for odd in [[], [0, 1], [0x80], [0], [0, 0], [0, 0, 0x80]] as [[UInt8]] {
            #expect(SignatureDER.rawRepresentation(of: encoded(odd, [5])) == nil)
            #expect(SignatureDER.rawRepresentation(of: encoded([5], odd)) == nil)
        }
    }

    @Test func `has no long form of a length, no other tag and nothing after its numbers`() {
        let good = encoded([5], [6])
        #expect(SignatureDER.rawRepresentation(of: good) != nil)
        #expect(SignatureDER.rawRepresentation(of: [0x30, 0x81] + good.dropFirst()) == nil)
        #expect(SignatureDER.rawRepresentation(of: [0x31] + good.dropFirst()) == nil)
        #expect(SignatureDER.rawRepresentation(of: [0x30, 0x80] + good.dropFirst(2) + [0, 0]) == nil)
        #expect(SignatureDER.rawRepresentation(of: [0x30, 9] + good.dropFirst(2) + [2, 1, 7]) == nil)
        #expect(SignatureDER.rawRepresentation(of: [0x30, 3] + good[2..<5]) == nil)
        #expect(SignatureDER.rawRepresentation(of: []) == nil)
    }
}
