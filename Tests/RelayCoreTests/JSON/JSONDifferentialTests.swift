import Foundation
import RelayCore
import StrictJSON
import Testing

/// Our reader and Foundation's on the same texts. Where they are known to differ, the difference is named here.
@Suite("The JSON reader beside Foundation's")
struct JSONDifferentialTests {
    @Test func `accepts and refuses the same texts and reads the same values, over seeded mutations`() throws {
        var generator = SeededGenerator(seed: 8259)
        var taken = 0
        for _ in 0..<6_000 {
            let text = mutated(Self.corpus.randomElement(using: &generator) ?? [], using: &generator)
            let ours = try? JSONReader.read(text[...])
            #expect(JSONReader.isValid(text[...]) == (ours != nil))
            guard !isKnownDifference(text) else { continue }
            let theirs = try? JSONSerialization.jsonObject(with: Data(text), options: .fragmentsAllowed)
            #expect((ours != nil) == (theirs != nil), "\(String(decoding: text, as: UTF8.self).debugDescription)")
            guard let ours, let theirs else { continue }
            taken += 1
            #expect(same(ours, theirs), "\(String(decoding: text, as: UTF8.self).debugDescription)")
            let rewritten = Array(written(ours).utf8)
            #expect(try JSONReader.read(rewritten[...]) == ours)
        }
        #expect(taken > 500)
    }

    private static let corpus: [[UInt8]] = [
        #"{"type":"connect","host":"mud.example","port":4000,"width":80,"height":24}"#,
        #"{"type":"input","text":"say \"hi\"\r\n"}"#, #"{"proto":"gmcp","id":"Core.Hello","data":"{\"a\":1}"}"#,
        #"[0,-1,1.5,2e3,-2.25E-2,true,false,null,"",[],{}]"#, #"{"a":{"b":{"c":[[[1]]]}}}"#,
        #"["\u00e4\u20ac\ud83d\ude00","äöü€😀","\b\f\n\r\t\/\\\""]"#, #"{ "x" : [ 1 , 2 ] , "y" : { } }"#,
    ].map { Array($0.utf8) }

    private func mutated(_ text: [UInt8], using generator: inout SeededGenerator) -> [UInt8] {
        var text = text
        let alphabet = Array(#"{}[]",:\u0123456789abcdefEnrt+-. "#.utf8) + [0x80, 0xC3, 0xFF, 0x00]
        for _ in 0..<Int.random(in: 0...3, using: &generator) {
            let place = Int.random(in: 0..<text.count, using: &generator)
            let byte = alphabet[Int.random(in: alphabet.indices, using: &generator)]
            switch Int.random(in: 0..<4, using: &generator) {
            case 0: text[place] = byte
            case 1: text.insert(byte, at: place)
            case 2: text.remove(at: place)
            default: text.swapAt(place, Int.random(in: text.indices, using: &generator))
            }
            if text.isEmpty { return text }
        }
        return text
    }

    /// Foundation reads UTF-16 and UTF-32 too, which it sees by their zero bytes; it takes a comma before the end of an
    /// array; of equal names it keeps one without saying which; and numbers beyond a double it refuses.
    private func isKnownDifference(_ text: [UInt8]) -> Bool {
        if text.contains(0) || text.filter({ $0 != 0x20 }).contains(Array(",]".utf8)) { return true }
        guard let value = try? JSONReader.read(text[...]) else { return false }
        return hasEqualNames(value) || hasHugeNumber(value)
    }

    private func hasEqualNames(_ value: JSONValue) -> Bool {
        switch value {
        case .object(let object):
            Set(object.members.map(\.name)).count < object.members.count
                || object.members.contains { hasEqualNames($0.value) }
        case .array(let elements): elements.contains(where: hasEqualNames)
        default: false
        }
    }

    private func hasHugeNumber(_ value: JSONValue) -> Bool {
        switch value {
        case .object(let object): object.members.contains { hasHugeNumber($0.value) }
        case .array(let elements): elements.contains(where: hasHugeNumber)
        case .number(let text): Double(text).map { !$0.isFinite || $0.magnitude < 1e-300 && $0 != 0 } ?? true
        default: false
        }
    }

    private func same(_ ours: JSONValue, _ theirs: Any) -> Bool {
        switch (ours, theirs) {
        case (.null, _ as NSNull): true
        case (.string(let ours), let theirs as String): ours.utf8.elementsEqual(theirs.utf8)
        case (.array(let ours), let theirs as [Any]): ours.count == theirs.count && zip(ours, theirs).allSatisfy(same)
        case (.object(let ours), let theirs as [String: Any]):
            ours.members.count == theirs.count
                && ours.members.allSatisfy { member in theirs[member.name].map { same(member.value, $0) } ?? false }
        case (.bool(let ours), let theirs as NSNumber): ours == theirs.boolValue
        case (.integer(let ours), let theirs as NSNumber): ours == theirs.intValue
        case (.number(let ours), let theirs as NSNumber): Double(ours) == theirs.doubleValue
        default: false
        }
    }
}
