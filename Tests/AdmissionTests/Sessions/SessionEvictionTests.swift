import Testing
import WireText

@testable import Admission

/// Which detached session makes room for a new one, and when. Every wait is tried a millisecond before its end and at
/// its end.
@Suite("At a limit of sessions") struct SessionEvictionTests {
    typealias Register = SessionRegister<Int>

    private static let device = Identity(method: AppAttestMethod.name, subject: "device")
    private static let neighbour = Identity(method: AppAttestMethod.name, subject: "neighbour")
    private static let certificate = Identity.certificate(sha256: [UInt8](repeating: 1, count: 32))
    private static let otherCertificate = Identity.certificate(sha256: [UInt8](repeating: 2, count: 32))
    private static let ticket = Identity(method: TicketMethod.name, subject: "0123456789abcdef")
    private static let otherTicket = Identity(method: TicketMethod.name, subject: "fedcba9876543210")

    private let home = address("192.0.2.1")
    private let away = address("198.51.100.7")
    /// Of 45 minutes.
    private let quarter = 675_000
    private let day = 86_400_000

    private func book(perDevice: Int = 100, perAddress: Int = 100) -> RegisterBook<Int> {
        RegisterBook(perDevice: perDevice, perAddress: perAddress)
    }

    /// A session whose client has been away since `detached`, in milliseconds from the start; nil: it is there.
    @discardableResult
    private func open(
        _ book: RegisterBook<Int>, _ owner: Identity, from address: IPAddress, holder: Int, detached: Int? = 0,
        isShared: Bool? = nil
    ) throws -> Register.Lease {
        var dice = Dice(UInt64(holder))
        let lease = try #require(book.reserve(for: owner, from: address, isShared: isShared).lease)
        #expect(book.open(lease, id: "s\(holder)", token: SessionToken(using: &dice), holder: holder))
        if let detached { book.register.detached(lease, at: (start + detached).monotonic) }
        return lease
    }

    // MARK: The client's own

    @Test func `a client's own session at a full address goes when it has been detached for a minute`() throws {
        for owner in [Self.device, Self.ticket] {
            let book = book(perAddress: 1)
            try open(book, owner, from: home, holder: 1)
            #expect(book.reserve(for: owner, from: home, at: start + 59_999).refusal == .address)
            #expect(book.reserve(for: owner, from: home, at: start + 60_000).evicted == 1)
        }
    }

    @Test func `a client's own session goes at once if the client has too many itself, wherever it began`() throws {
        for owner in [Self.device, Self.ticket] {
            let book = book(perDevice: 1)
            try open(book, owner, from: home, holder: 1)
            #expect(book.reserve(for: owner, from: away, at: start).evicted == 1)
        }
    }

    @Test func `a client's own session goes before one that has been detached for longer`() throws {
        let book = book(perAddress: 3)
        try open(book, .anonymous, from: home, holder: 1)
        try open(book, Self.device, from: home, holder: 2, detached: 20)
        try open(book, Self.device, from: home, holder: 3, detached: 10)
        #expect(book.reserve(for: Self.device, from: home, at: start + day).evicted == 3)
        #expect(book.reserve(for: Self.device, from: home, at: start + day).evicted == 2)
        #expect(book.reserve(for: Self.device, from: home, at: start + day).evicted == 1)
        #expect(book.reserve(for: Self.device, from: home, at: start + day).refusal == .address)
    }

    // MARK: Strangers

    @Test(arguments: [device, certificate, ticket, .anonymous])
    func `a stranger's session stays, however long its client is away`(newcomer: Identity) throws {
        let book = book(perAddress: 2)
        try open(book, Self.neighbour, from: home, holder: 1)
        try open(book, Self.otherCertificate, from: home, holder: 2)
        #expect(book.reserve(for: newcomer, from: home, at: start + day).refusal == .address)
        #expect(book.register.detachedCount == 2)
    }

    @Test(arguments: [device, certificate, otherTicket, .anonymous])
    func `a ticket's session stays for clients that came without that ticket`(newcomer: Identity) throws {
        let book = book(perAddress: 1)
        try open(book, Self.ticket, from: home, holder: 1)
        #expect(book.reserve(for: newcomer, from: home, at: start + day).refusal == .address)
    }

    // MARK: Clients that only an address tells apart

    @Test(
        arguments: [
            (Identity.anonymous, Identity.anonymous), (.anonymous, device), (.anonymous, ticket),
            (certificate, certificate),
        ] as [(Identity, Identity)])
    func `a session goes at a full address after a quarter of the grace period`(
        owner: Identity, newcomer: Identity
    ) throws {
        let book = book(perAddress: 10)
        for holder in 1...10 { try open(book, owner, from: home, holder: holder, detached: holder) }
        #expect(book.reserve(for: newcomer, from: home, at: start + quarter).refusal == .address)
        #expect(book.reserve(for: newcomer, from: home, at: start + quarter + 1).evicted == 1)
        #expect(book.reserve(for: newcomer, from: home, at: start + quarter + 1).refusal == .address)
        #expect(book.reserve(for: newcomer, from: home, at: start + quarter + 2).evicted == 2)
    }

    @Test func `an IPv6 /64 is one address for that, too`() throws {
        let book = book(perAddress: 1)
        try open(book, .anonymous, from: address("2001:db8::1"), holder: 1)
        #expect(book.reserve(for: .anonymous, from: address("2001:db8::2"), at: start + quarter).evicted == 1)
    }

    @Test func `the sessions of an identity that several share go only for a client of their address`() throws {
        for owner in [Self.certificate, Self.ticket] {
            let book = book(perDevice: 2)
            try open(book, owner, from: home, holder: 1, isShared: true)
            try open(book, owner, from: away, holder: 2, detached: 5, isShared: true)
            func reserve(from address: IPAddress, after time: Int) -> SessionReservation<Int> {
                book.reserve(for: owner, from: address, at: start + time, isShared: true)
            }
            #expect(reserve(from: address("203.0.113.9"), after: day).refusal == .device)
            #expect(reserve(from: home, after: quarter - 1).refusal == .device)
            #expect(reserve(from: away, after: quarter).refusal == .device)
            #expect(reserve(from: home, after: quarter).evicted == 1)
            #expect(reserve(from: home, after: day).refusal == .device, "the other one is a stranger's")
            #expect(reserve(from: away, after: day).evicted == 2)
        }
    }

    @Test func `the grace period is the one of the last reload`() throws {
        let book = book(perAddress: 1)
        try open(book, .anonymous, from: home, holder: 1)
        book.register.limits.grace = .seconds(240)
        #expect(book.reserve(for: .anonymous, from: home, at: start + 59_999).refusal == .address)
        #expect(book.reserve(for: .anonymous, from: home, at: start + 60_000).evicted == 1)
    }

    // MARK: Several gateways

    @Test func `another gateway's session makes a client's own go, and none of an identity that several share`() throws
    {
        let book = book()
        for (holder, owner) in [Self.device, Self.certificate, Self.ticket].enumerated() {
            try open(book, owner, from: home, holder: holder, isShared: owner != Self.device)
        }
        for owner in [Self.certificate, Self.ticket] {
            let elsewhere = SessionOwner.elsewhere(owner)
            #expect(book.evictOldest(of: elsewhere, from: nil, at: start + day) == nil)
            let count = book.register.count(of: owner)
            #expect(count.leases == 1 && count.evictable == 0, "it isn't asked for either")
        }
        #expect(book.register.count(of: Self.device).evictable == 1)
        #expect(book.evictOldest(of: .elsewhere(Self.device), from: nil, at: start) == 0)
        #expect(book.register.count == 2)
    }

    @Test func `a session that is one too many in the fleet makes one of its own address go`() throws {
        let book = book()
        try open(book, Self.certificate, from: home, holder: 1)
        let owner = SessionOwner(Self.certificate, isShared: true)
        #expect(book.evictOldest(of: owner, from: away, at: start + day) == nil)
        #expect(book.evictOldest(of: owner, from: home, at: start + quarter - 1) == nil)
        #expect(book.evictOldest(of: owner, from: home, at: start + quarter) == 1)
    }

    // MARK: Who shares an identity

    @Test func `clients without a name and with a certificate may share their identity, devices don't`() {
        #expect(Principal.anonymous.owner.isShared)
        #expect(Principal(Self.certificate, proof: nil).owner.isShared)
        #expect(!Principal(Self.device, proof: nil).owner.isShared)
        #expect(!Principal(Identity(method: AccessTokenMethod.name, subject: "x"), proof: nil).owner.isShared)
        #expect(
            !Principal(Identity(method: AccessTokenMethod.developmentName, subject: "x"), proof: nil).owner.isShared)
    }

    @Test(arguments: [(1, false), (2, true)])
    func `bearers of a ticket with several uses share its identity, also with the next tickets`(
        uses: Int, isShared: Bool
    ) throws {
        let office = TicketOffice()
        let first = office.issueForOperator(timeToLive: .seconds(60), uses: uses, at: start.monotonic)
        let bearer = try principal(of: first, at: office)
        #expect(bearer.owner.isShared == isShared && bearer.comingBack.owner.isShared == isShared)
        #expect(bearer.endingTickets(at: start.monotonic).owner.isShared == isShared)
        let next = try principal(of: office.issue(to: bearer, at: start.monotonic), at: office)
        #expect(next.owner == bearer.owner && next.isByTicket)
    }

    @Test func `a device's ticket is the device's`() throws {
        let office = TicketOffice()
        let device = Principal(Self.device, proof: nil)
        let bearer = try principal(of: office.issue(to: device, at: start.monotonic), at: office)
        #expect(bearer.owner == device.owner && bearer.isByTicket)
    }

    private struct NoPrincipal: Error {}

    private func principal(of issue: TicketIssue, at office: TicketOffice) throws -> Principal {
        guard case .issued(let issued) = issue,
            case .spent(let spent) = office.spend(issued.ticket.text, at: start.monotonic)
        else { throw NoPrincipal() }
        return Principal(spent)
    }
}
