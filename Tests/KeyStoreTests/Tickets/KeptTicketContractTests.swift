import KeyStore
import Testing

/// The contract of every store that keeps the next tickets of sessions.
@Suite("A store of next tickets")
struct KeptTicketContractTests {
    private let content = [UInt8](repeating: 0xA5, count: SealedTicket.maximumBytes)

    private func hash(_ byte: UInt8) -> [UInt8] { KeptTicket.sample(byte).hash }

    @Test(arguments: KeptTicketKind.allCases)
    func `keeps a ticket whole, and gives it to one taker`(kind: KeptTicketKind) async throws {
        let bench = try await kind.make()
        let ticket = KeptTicket.sample(1, content: content)
        #expect(try await bench.one.keep(ticket) == .spent)
        #expect(try await bench.other.keep(ticket) == .alreadySpent)
        #expect(try await bench.other.take(hash(2), at: 1) == nil)
        let taken = TakenNextTicket(content: content, expires: 1_000)
        #expect(try await bench.other.take(hash(1), at: 999) == taken)
        for gateway in bench.gateways { #expect(try await gateway.take(hash(1), at: 1) == nil) }
    }

    @Test func `has tickets of bounded length`() {
        let (hash, long) = (hash(1), content + [0])
        func ticket(_ hash: [UInt8], _ content: [UInt8]) -> KeptTicket? {
            KeptTicket(hash: hash, session: .sample(1), holder: .sample(1), content: content, expires: 1)
        }
        #expect(ticket(hash, content) != nil)
        #expect(ticket(hash, long) == nil && ticket(hash + [0], []) == nil && ticket([], []) == nil)
    }

    @Test(arguments: KeptTicketKind.allCases)
    func `gives none that has expired`(kind: KeptTicketKind) async throws {
        let bench = try await kind.make()
        for (number, time) in [(UInt8(1), Int64(999)), (2, 1_000)] {
            #expect(try await bench.one.keep(.sample(number, session: number)) == .spent)
            #expect(try await (bench.one.take(hash(number), at: time) != nil) == (time < 1_000))
        }
    }

    /// Nobody knows which of them has reached its client.
    @Test(arguments: KeptTicketKind.allCases)
    func `has of each session the newest tickets only`(kind: KeptTicketKind) async throws {
        let bench = try await kind.make()
        for byte in UInt8(1)...6 {
            #expect(try await bench.one.keep(.sample(byte, session: 1 + byte % 2)) == .spent)
        }
        #expect(try await bench.one.keep(.sample(7, session: 2)) == .spent)
        // 1, 3, 5 and 7 are of one session, 2, 4 and 6 of another one.
        #expect(try await bench.other.take(hash(1), at: 1) == nil)
        #expect(try await bench.other.take(hash(2), at: 1) != nil)
        #expect(try await bench.other.take(hash(3), at: 1) != nil)
        #expect(KeptTicket.perSession == 3)
    }

    @Test(arguments: KeptTicketKind.allCases)
    func `uses all tickets of a session with one of them`(kind: KeptTicketKind) async throws {
        let bench = try await kind.make()
        for byte in UInt8(1)...3 { #expect(try await bench.one.keep(.sample(byte)) == .spent) }
        #expect(try await bench.one.keep(.sample(9, session: 9)) == .spent)
        #expect(try await bench.other.take(hash(2), at: 1) != nil)
        for byte in [UInt8(1), 2, 3] { #expect(try await bench.one.take(hash(byte), at: 1) == nil) }
        #expect(try await bench.one.take(hash(9), at: 1) != nil)
        // The session goes on, and is given another one.
        #expect(try await bench.one.keep(.sample(4)) == .spent)
        #expect(try await bench.other.take(hash(4), at: 1) != nil)
    }

    @Test(arguments: KeptTicketKind.allCases)
    func `admits one of many takers, whichever tickets of the session they have`(kind: KeptTicketKind) async throws {
        let bench = try await kind.make()
        for round in UInt8(0)..<8 {
            let tickets = (0..<3).map { KeptTicket.sample(10 * round + $0, session: round) }
            for ticket in tickets { #expect(try await bench.one.keep(ticket) == .spent) }
            let taken = try await withThrowingTaskGroup(of: TakenNextTicket?.self) { group in
                for racer in 0..<12 {
                    let (gateway, ticket) = (bench.gateways[racer % bench.gateways.count], tickets[racer % 3])
                    group.addTask { try await gateway.take(ticket.hash, at: 1) }
                }
                return try await group.reduce(into: 0) { $0 += $1 == nil ? 0 : 1 }
            }
            #expect(taken == 1)
        }
    }

    @Test(arguments: KeptTicketKind.allCases)
    func `forgets a ticket that was never sent, and no other one`(kind: KeptTicketKind) async throws {
        let bench = try await kind.make()
        for byte in UInt8(1)...2 { #expect(try await bench.one.keep(.sample(byte)) == .spent) }
        try await bench.one.discard(hash(2))
        #expect(try await bench.one.keep(.sample(3)) == .spent)
        #expect(try await bench.one.keep(.sample(4)) == .spent)
        #expect(try await bench.one.take(hash(2), at: 1) == nil)
        #expect(try await bench.one.take(hash(1), at: 1) != nil)
    }

    @Test(arguments: KeptTicketKind.allCases)
    func `ends the tickets of a session that has ended, and makes none longer`(kind: KeptTicketKind) async throws {
        let bench = try await kind.make()
        #expect(try await bench.one.keep(.sample(1, session: 1)) == .spent)
        #expect(try await bench.one.keep(.sample(2, session: 2)) == .spent)
        #expect(try await bench.one.keep(.sample(3, session: 3)) == .spent)
        try await bench.one.shorten(.sample(1), to: 500)
        try await bench.one.shorten(.sample(2), to: 5_000)
        #expect(try await bench.one.take(hash(1), at: 500) == nil)
        #expect(try await bench.one.take(hash(2), at: 1)?.expires == 1_000)
        #expect(try await bench.one.take(hash(3), at: 999)?.expires == 1_000)
    }

    @Test(arguments: KeptTicketKind.allCases)
    func `forgets what has expired, and nothing else`(kind: KeptTicketKind) async throws {
        let bench = try await kind.make()
        for byte in UInt8(1)...3 {
            #expect(try await bench.one.keep(.sample(byte, session: byte, expires: 100 * Int64(byte))) == .spent)
        }
        try await bench.one.forget(expiredAt: 200)
        // As if the clock had been set back.
        #expect(try await bench.one.take(hash(1), at: 1) == nil)
        #expect(try await bench.one.take(hash(2), at: 1) == nil)
        #expect(try await bench.one.take(hash(3), at: 1) != nil)
    }

    @Test func `in memory has a maximum of tickets and of bytes`() async throws {
        let few = MemoryKeptTickets(maximum: 3)
        for byte in UInt8(1)...3 { #expect(try await few.keep(.sample(byte, session: byte)) == .spent) }
        #expect(try await few.keep(.sample(4, session: 4)) == .full)
        #expect(try await few.use(hash: hash(1)))
        #expect(try await few.keep(.sample(4, session: 4)) == .spent)

        let many = MemoryKeptTickets(maximum: .max)
        let fitting = MemoryKeptTickets.maximumBytes / (content.count + 1_024)
        func ticket(_ number: Int) -> KeptTicket {
            var bytes = hash(1)
            (bytes[0], bytes[1]) = (UInt8(number & 0xFF), UInt8(number >> 8))
            return KeptTicket(
                hash: bytes, session: SessionMark(bytes: bytes) ?? .sample(1), holder: .sample(1), content: content,
                expires: 1_000) ?? .sample(1)
        }
        for number in 0..<fitting { #expect(try await many.keep(ticket(number)) == .spent) }
        #expect(try await many.keep(ticket(fitting)) == .full)
        many.discard(hash: ticket(0).hash)
        #expect(try await many.keep(ticket(fitting)) == .spent)
        many.forget(expiredAt: 1_000)
        for number in 0..<fitting { #expect(try await many.keep(ticket(number)) == .spent) }
    }
}
