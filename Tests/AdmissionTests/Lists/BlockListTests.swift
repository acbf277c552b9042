import KeyStore
import Testing
import WireText

@testable import Admission

struct BlockListTests {
    private func refusal(of text: String) -> OperatorListError? {
        do throws(OperatorListError) {
            _ = try BlockList(text)
            return nil
        } catch {
            return error
        }
    }

    @Test func `entries that can't be read leave the others in effect`() {
        let two = "address 192.0.2.2\naddress ::1"
        let entries = ["address 192.0.2.1", "planet mars", "address 192.0.2.0/99", "", two]
        let (list, leftOut) = BlockList.reading(entries, kinds: [])
        #expect(list.contains(address("192.0.2.1")) && !list.contains(address("192.0.2.2")) && leftOut == 4)
        let many = (0...BlockList.maximumCount).map { "address 10.\($0 >> 16).\($0 >> 8 & 255).\($0 & 255)" }
        let limited = BlockList.reading(many, kinds: [])
        #expect(limited.leftOut == 1 && limited.list.contains(address("10.1.134.159")))
        #expect(!limited.list.contains(address("10.1.134.160")))
    }

    @Test func `an empty list blocks no client`() throws {
        for list in [BlockList(), try BlockList(""), try BlockList("# nobody\n\r\n \t\n")] {
            #expect(list.isEmpty)
            #expect(!list.contains(address("192.0.2.1")) && !list.contains(address("::1")))
        }
    }

    @Test func `addresses, keys and certificates are blocked, and their neighbours not`() throws {
        let key = try #require(KeyID(bytes: [UInt8](repeating: 5, count: 32)))
        let neighbour = try #require(KeyID(bytes: [UInt8](repeating: 5, count: 31) + [6]))
        let certificate = [UInt8](repeating: 7, count: 32)
        let list = try BlockList(
            """
            address 203.0.113.0/24   # a scanner
            address 192.0.2.1
            address 2001:db8:1::/48
            key \(key.base64)
            certificate \(Hexadecimal.encode(certificate))
            """)
        for text in [
            "203.0.113.0", "203.0.113.255", "192.0.2.1", "2001:db8:1::", "2001:db8:1:ffff:ffff:ffff:ffff:ffff",
        ] {
            #expect(list.contains(address(text)), "\(text)")
        }
        for text in [
            "203.0.112.255", "203.0.114.0", "192.0.2.0", "192.0.2.2", "2001:db8:0:ffff::", "2001:db8:2::", "::",
        ] {
            #expect(!list.contains(address(text)), "\(text)")
        }
        #expect(list.contains(address("::ffff:203.0.113.9")), "an IPv4 address written as IPv6 is one")
        #expect(list.contains(.key(key)) && !list.contains(.key(neighbour)))
        #expect(
            list.contains(.certificate(sha256: certificate))
                && !list.contains(.certificate(sha256: certificate.dropLast() + [8])))
        #expect(list.contains(.key(key)) && !list.contains(.key(neighbour)))
        #expect(list.contains(.certificate(sha256: certificate)) && !list.contains(.certificate(sha256: key.bytes)))
        #expect(!list.contains(.anonymous) && !list.contains(.operatorTicket(TicketID())))
    }

    @Test func `accounts are blocked however they began, and in one spelling`() throws {
        let account = try #require(AccountID(bytes: [UInt8](repeating: 0xAB, count: AccountID.length)))
        let kinds = [AccessTokenMethod.accountBlockListKind]
        let list = try BlockList("account \(account)", kinds: kinds)
        #expect(list.contains(.account(account)))
        for kind in AccountOrigin.Kind.allCases {
            let name = AccessTokenMethod.AccountNames.name(of: kind)
            #expect(list.contains(Identity(method: name, subject: account.text)), "\(kind)")
        }
        let other = Identity(method: AccessTokenMethod.developmentName, subject: account.text)
        #expect(!list.contains(other) && !list.contains(.account(.init(bytes: Array(1...16)) ?? account)))
        for text in [account.text.uppercased(), String(account.text.dropLast()), account.text + "0", "-h"] {
            #expect(throws: OperatorListError.self) { try BlockList("account \(text)", kinds: kinds) }
        }
    }

    @Test func `IPv4 and IPv6 ranges are separate`() throws {
        let everyIPv6 = try BlockList("address ::/0")
        #expect(everyIPv6.contains(address("2001:db8::1")) && !everyIPv6.contains(address("192.0.2.1")))
        let everyIPv4 = try BlockList("address 0.0.0.0/0")
        #expect(everyIPv4.contains(address("255.255.255.255")) && !everyIPv4.contains(address("::1")))
    }

    @Test(arguments: [
        "address", "192.0.2.1", "adress 192.0.2.1", "Address 192.0.2.1", "address 192.0.2.1/24", "address 192.0.2.0/33",
        "address ::ffff:192.0.2.0/120", "address 192.0.2.1 192.0.2.2", "address example.org", "key", "key AAAA",
        "key \(String(repeating: "A", count: 42))B", "certificate \(String(repeating: "0", count: 63))",
        "certificate \(String(repeating: "0", count: 65))", "certificate sha256:\(String(repeating: "0", count: 64))",
        "address 192.0.2.1,", "\u{FEFF}address 192.0.2.1", "address\u{A0}192.0.2.1",
    ])
    func `a line of another form is refused with its number`(line: String) {
        #expect(refusal(of: "address 192.0.2.1\n# note\n" + line + "\nnonsense")?.line == 3)
    }

    @Test func `a hundred thousand entries fit, and one more doesn't`() throws {
        let lines = (0..<100_000).map { "address 10.\($0 >> 16).\($0 >> 8 & 255).\($0 & 255)" }
        let full = lines.joined(separator: "\n")
        let list = try BlockList(full + "\n# and no more\n")
        #expect(list.contains(address("10.1.134.159")) && !list.contains(address("10.1.134.160")))
        #expect(refusal(of: full + "\naddress 192.0.2.1")?.line == 100_001)
    }

    /// Nested and adjacent ranges, compared with a check of each range.
    @Test(arguments: 1...20 as ClosedRange<UInt64>) func `the search agrees with a check of every range`(seed: UInt64) {
        var dice = Dice(seed)
        var networks: [(number: UInt32, mask: UInt32)] = []
        let ranges = (0..<200).compactMap { _ in
            let bits = Int.random(in: 16...32, using: &dice)
            let number =
                (UInt32(10) << 24 | UInt32.random(in: 0..<4096, using: &dice) << 8)
                | UInt32.random(in: 0..<256, using: &dice)
            let mask = bits == 32 ? UInt32.max : ~(UInt32.max >> UInt32(bits))
            networks.append((number & mask, mask))
            return AddressRange(Self.dotted(number & mask) + "/\(bits)")
        }
        #expect(ranges.count == 200)
        let set = AddressSet(Array(ranges.prefix(Int.random(in: 0...200, using: &dice))))
        let kept = AddressSet(ranges)
        for _ in 0..<2_000 {
            let number = UInt32(10) << 24 | UInt32.random(in: 0..<(1 << 20), using: &dice)
            let address = address(Self.dotted(number))
            #expect(kept.contains(address) == networks.contains { number & $0.mask == $0.number })
            if set.contains(address) { #expect(kept.contains(address)) }
        }
    }

    private static func dotted(_ number: UInt32) -> String {
        [24, 16, 8, 0].map { String(number >> UInt32($0) & 0xff) }.joined(separator: ".")
    }
}
