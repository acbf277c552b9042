import Testing

@testable import portcullis_sim

/// What is refused for its length would measure nothing.
struct AttackTextsTests {
    private static let end = Array("\r\n\r\n".utf8)

    private func packets(_ texts: AttackTexts) throws -> [AttackTexts.Packet] {
        let packets = try texts.packets(to: "localhost:6200", ticket: "abc")
        #expect(!packets.isEmpty)
        return packets
    }

    /// The lines of a request's header, and its body.
    private func request(_ bytes: [UInt8]) throws -> (lines: [String], body: [UInt8]) {
        let end = try #require(bytes.indices.first { bytes[$0...].starts(with: Self.end) })
        let head = String(decoding: bytes[..<end], as: UTF8.self)
        return (head.split(separator: "\r\n").map(String.init), Array(bytes[(end + 4)...]))
    }

    private func expectWithinLimits(_ lines: [String]) {
        #expect(lines.allSatisfy { $0.utf8.count <= 8_192 })
        #expect(lines.dropFirst().reduce(2) { $0 + $1.utf8.count + 2 } <= 16_384)
    }

    @Test func `marks fill the length and stand in descending classes`() throws {
        let marks = AttackTexts.marks(9_000)
        #expect((8_900...9_000).contains(marks.utf8.count))
        let classes = marks.unicodeScalars.map { $0.properties.canonicalCombiningClass.rawValue }
        #expect(classes == classes.sorted(by: >) && Set(classes).count == 9 && !classes.contains(0))
    }

    @Test func `bodies are whole and not too long`() throws {
        for packet in try packets(.bodies) {
            let (lines, body) = try request(packet.bytes)
            expectWithinLimits(lines)
            #expect(lines.contains("Content-Length: \(body.count)") && body.count <= 65_536 && packet.upgrade == nil)
        }
        #expect(try packets(.bodies).contains { $0.bytes.count > 60_000 })
    }

    @Test func `fields are not too long`() throws {
        for packet in try packets(.fields) {
            let (lines, body) = try request(packet.bytes)
            expectWithinLimits(lines)
            #expect(body.isEmpty && packet.bytes.count > 7_000)
        }
    }

    @Test func `messages are frames of an admitted client`() throws {
        for packet in try packets(.messages) {
            let (lines, body) = try request(try #require(packet.upgrade))
            #expect(lines[0].contains("&ticket=abc") && body.isEmpty)
            let length = Int(packet.bytes[2]) << 8 | Int(packet.bytes[3])
            #expect(packet.bytes[0] == 0x81 && packet.bytes[1] == 0xFE && packet.bytes.count == length + 8)
            #expect((60_000...65_535).contains(length))
        }
    }
}
