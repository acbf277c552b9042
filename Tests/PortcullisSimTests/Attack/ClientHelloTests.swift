import Testing

@testable import portcullis_sim

struct ClientHelloTests {
    /// Assembled by hand: TLS 1.3, X25519 and P-256, a key share for X25519.
    private static let extensions: [UInt8] =
        [0, 10, 0, 6, 0, 4, 0, 29, 0, 23]
        + [0, 13, 0, 4, 0, 2, 4, 3]
        + [0, 43, 0, 3, 2, 3, 4]
        + [0, 51, 0, 10, 0, 8, 0, 29, 0, 4, 1, 2, 3, 4]

    private static func record(extensions: [UInt8]? = extensions) -> [UInt8] {
        let beginning: [UInt8] =
            [3, 3] + [UInt8](repeating: 7, count: 32) + [1, 99] + [0, 4, 0x13, 1, 0x13, 2] + [1, 0]
        let hello = beginning + (extensions.map { [0, UInt8($0.count)] + $0 } ?? [])
        return [22, 3, 1, 0, UInt8(hello.count + 4), 1, 0, 0, UInt8(hello.count)] + hello
    }

    @Test func `a hello's groups, signature algorithms and key shares are read and written back unchanged`() throws {
        let hello = try ClientHello(record: Self.record())
        #expect(hello.groups == [29, 23])
        #expect(hello.signatures == [0x0403])
        #expect(hello.sharedGroups == [29])
        #expect(hello.record == Self.record())
    }

    @Test func `removing the key shares changes nothing else in a hello`() throws {
        let hello = try ClientHello(record: Self.record())
        let retry = try ClientHello(record: hello.withoutKeyShares.record)
        #expect(retry.sharedGroups.isEmpty && retry.groups == hello.groups)
        #expect(retry.extensions.map(\.type) == hello.extensions.map(\.type))
        #expect(retry.record.count == hello.record.count - 8)
        #expect(retry.record[9..<50] == hello.record[9..<50])
    }

    @Test func `a hello without extensions gets none`() throws {
        let hello = try ClientHello(record: Self.record(extensions: nil))
        #expect(hello.extensions.isEmpty && hello.groups.isEmpty && hello.sharedGroups.isEmpty)
        #expect(hello.record == Self.record(extensions: nil))
        #expect(try ClientHello(record: Self.record(extensions: [])).record == Self.record(extensions: []))
    }

    @Test func `a truncated record, or one with an extra byte, is no hello`() {
        let record = Self.record()
        for count in record.indices {
            #expect(throws: ClientHello.Failure.notAClientHello) {
                try ClientHello(record: Array(record.prefix(count)))
            }
        }
        #expect(throws: ClientHello.Failure.notAClientHello) { try ClientHello(record: record + [0]) }
    }

    @Test func `a hello with any byte changed is written back as read`() {
        let record = Self.record()
        for index in record.indices {
            for value in [0, 1, 0x7F, 0xFF] as [UInt8] {
                var other = record
                other[index] = value
                guard let hello = try? ClientHello(record: other) else { continue }
                #expect(hello.record == other)
                _ = (hello.groups, hello.signatures, hello.sharedGroups, hello.withoutKeyShares.record)
            }
        }
    }

    @Test func `an alert, another message and two messages in a record are no hello`() {
        var alert = Self.record()
        alert[0] = 21
        var serverHello = Self.record()
        serverHello[5] = 2
        var two = Self.record() + [0, 0, 0, 0]
        two[4] += 4
        for record in [alert, serverHello, two] {
            #expect(throws: ClientHello.Failure.notAClientHello) { try ClientHello(record: record) }
        }
    }
}
