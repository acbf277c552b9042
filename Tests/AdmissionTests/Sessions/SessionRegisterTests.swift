import Testing
import WireText

@testable import Admission

struct SessionRegisterTests {
    typealias Register = SessionRegister<Int>
    private let alice = Identity(method: AppAttestMethod.name, subject: "alice")
    private let bob = Identity(method: AppAttestMethod.name, subject: "bob")
    private let home = address("192.0.2.1")
    private let away = address("198.51.100.7")

    private func book(perDevice: Int = 2, perAddress: Int = 100) -> RegisterBook<Int> {
        RegisterBook(perDevice: perDevice, perAddress: perAddress)
    }

    /// A session that can be resumed, owned by `holder`.
    private func open(
        _ book: RegisterBook<Int>, _ owner: Identity, from address: IPAddress, holder: Int
    ) throws -> Register.Lease {
        var dice = Dice(UInt64(holder))
        let lease = try #require(book.reserve(for: owner, from: address).lease)
        #expect(book.open(lease, id: "s\(holder)", token: SessionToken(using: &dice), holder: holder))
        return lease
    }

    // MARK: Limits

    @Test func `an owner's sessions are limited`() {
        let book = book(perDevice: 2)
        #expect(book.reserve(for: alice, from: home).lease != nil)
        #expect(book.reserve(for: alice, from: away).lease != nil)
        #expect(book.reserve(for: alice, from: home).refusal == .device)
        #expect(book.reserve(for: bob, from: home).lease != nil)
        #expect(book.register.count == 3)
    }

    @Test func `an address's sessions are limited, for all owners together`() {
        let book = book(perDevice: 5, perAddress: 3)
        #expect(book.reserve(for: alice, from: home).lease != nil)
        #expect(book.reserve(for: bob, from: home).lease != nil)
        #expect(book.reserve(for: .anonymous, from: home).lease != nil)
        for owner in [alice, bob, .anonymous] { #expect(book.reserve(for: owner, from: home).refusal == .address) }
        #expect(book.reserve(for: .anonymous, from: away).lease != nil)
    }

    @Test func `an IPv6 /64 counts as one address`() {
        let book = book(perAddress: 1)
        #expect(book.reserve(for: .anonymous, from: address("2001:db8:0:1::1")).lease != nil)
        #expect(book.reserve(for: .anonymous, from: address("2001:db8:0:1:ffff::2")).refusal == .address)
        #expect(book.reserve(for: .anonymous, from: address("2001:db8:0:2::1")).lease != nil)
    }

    @Test func `anonymous clients aren't counted as one owner`() {
        let book = book(perDevice: 1)
        for _ in 0..<50 { #expect(book.reserve(for: .anonymous, from: home).lease != nil) }
    }

    @Test func `a released lease can be taken again, and is released once`() throws {
        let book = book(perDevice: 1, perAddress: 1)
        let first = try #require(book.reserve(for: alice, from: home).lease)
        book.register.release(first)
        let second = try #require(book.reserve(for: alice, from: home).lease)
        book.register.release(first)
        #expect(book.register.count == 1)
        #expect(book.reserve(for: alice, from: home).refusal == .device)
        book.register.release(second)
        #expect(book.register.footprint == 0)
    }

    @Test func `lowered limits end no session but refuse new ones, and raised limits apply at once`() {
        let book = book(perDevice: 2)
        for _ in 0..<2 { #expect(book.reserve(for: alice, from: home).lease != nil) }
        book.limits = SessionLeaseLimits(perDevice: 1, perAddress: 100)
        #expect(book.reserve(for: alice, from: home).refusal == .device)
        #expect(book.register.count == 2)
        book.limits.perDevice = 3
        #expect(book.reserve(for: alice, from: home).lease != nil)
        book.limits.perAddress = 3
        #expect(book.reserve(for: bob, from: home).refusal == .address)
    }

    // MARK: Making room

    @Test func `at an owner's limit the session detached for longest is evicted`() throws {
        let book = book(perDevice: 3)
        let leases = try (1...3).map { try open(book, alice, from: home, holder: $0) }
        let stranger = try open(book, bob, from: home, holder: 9)
        book.register.detached(stranger, at: start.monotonic)
        book.register.detached(leases[2], at: (start + 1).monotonic)
        book.register.detached(leases[0], at: (start + 2).monotonic)
        #expect(book.reserve(for: alice, from: away).evicted == 3)
        #expect(book.reserve(for: alice, from: away).evicted == 1)
        #expect(book.reserve(for: alice, from: away).refusal == .device)
        #expect(book.register.count == 4)
    }

    @Test func `an attached session or one without an id isn't evicted`() throws {
        let book = book(perDevice: 2)
        let back = try open(book, alice, from: home, holder: 1)
        book.register.detached(back, at: start.monotonic)
        #expect(book.adopted(back, by: 1))
        let dialling = try #require(book.reserve(for: alice, from: home).lease)
        book.register.detached(dialling, at: start.monotonic)
        #expect(book.reserve(for: alice, from: home).refusal == .device)
        #expect(book.register.detachedCount == 0)
    }

    @Test func `an evicted session is gone, and ending it releases no other lease`() throws {
        let book = book(perDevice: 1)
        let old = try open(book, alice, from: home, holder: 1)
        book.register.detached(old, at: start.monotonic)
        let reservation = book.reserve(for: alice, from: home)
        #expect(reservation.evicted == 1)
        book.register.release(old)
        book.register.detached(old, at: start.monotonic)
        #expect(!book.adopted(old, by: 7))
        #expect(book.register.count == 1 && book.register.detachedCount == 0)
        #expect(book.holders { _, _ in true } == [])
        #expect(book.reserve(for: alice, from: home).refusal == .device)
    }

    @Test func `at a full address only the owner's longest detached session is evicted`()
        throws
    {
        let book = book(perDevice: 5, perAddress: 3)
        let neighbour = try open(book, bob, from: home, holder: 1)
        let first = try open(book, .anonymous, from: home, holder: 2)
        let second = try open(book, .anonymous, from: home, holder: 3)
        #expect(book.reserve(for: .anonymous, from: home).refusal == .address, "all have their clients")
        book.register.detached(neighbour, at: start.monotonic)
        #expect(book.reserve(for: alice, from: home).refusal == .address)
        book.register.detached(second, at: (start + 1).monotonic)
        book.register.detached(first, at: (start + 2).monotonic)
        #expect(book.reserve(for: .anonymous, from: home).evicted == 3)
        #expect(book.reserve(for: alice, from: home).evicted == 2)
        #expect(book.reserve(for: alice, from: home).refusal == .address)
        #expect(book.reserve(for: bob, from: home).evicted == 1, "his own may go")
    }

    @Test func `at a full address a session is evicted only if that makes room`() throws {
        let book = book(perDevice: 1, perAddress: 1)
        let here = try open(book, alice, from: home, holder: 1)
        book.register.detached(here, at: start.monotonic)
        #expect(book.reserve(for: bob, from: away).lease != nil)
        #expect(book.reserve(for: alice, from: away).refusal == .address)
        #expect(book.register.count == 2 && book.register.detachedCount == 1, "the detached session stays")
        #expect(book.reserve(for: alice, from: home).evicted == 1)
    }

    // MARK: Finding

    @Test func `resumable sessions are known by owner, and for anonymous clients by address`() throws {
        let book = book()
        _ = try #require(book.reserve(for: alice, from: home).lease)
        #expect(!book.register.hasSession(alice, from: home), "it can't be found yet")
        let session = try open(book, alice, from: home, holder: 1)
        #expect(book.register.hasSession(alice, from: away) && !book.register.hasSession(bob, from: home))
        #expect(!book.register.hasSession(.anonymous, from: home))
        let nobodys = try open(book, .anonymous, from: home, holder: 2)
        #expect(book.register.hasSession(.anonymous, from: home) && !book.register.hasSession(.anonymous, from: away))
        book.register.detached(session, at: start.monotonic)
        #expect(book.register.detachedCount == 1 && book.register.hasSession(alice, from: home))
        book.register.release(nobodys)
        book.register.release(session)
        #expect(!book.register.hasSession(alice, from: home) && !book.register.hasSession(.anonymous, from: home))
    }

    @Test func `holders are found by owner and address, attached or detached`() throws {
        let book = book()
        let one = try open(book, alice, from: home, holder: 1)
        _ = try open(book, alice, from: away, holder: 2)
        _ = try open(book, bob, from: home, holder: 3)
        book.register.detached(one, at: start.monotonic)
        #expect(book.reserve(for: bob, from: home).lease != nil, "has no holder yet")
        #expect(book.holders { owner, _ in owner == alice }.sorted() == [1, 2])
        #expect(book.holders { _, address in address == home }.sorted() == [1, 3])
        #expect(book.adopted(one, by: 10))
        #expect(book.holders { owner, _ in owner == alice }.sorted() == [2, 10])
    }

    @Test func `an id is unique and has a maximum length, and a lease has one session`() throws {
        var dice = Dice(1)
        let book = book(perDevice: 5)
        let token = SessionToken(using: &dice)
        let leases = (0..<3).compactMap { _ in book.reserve(for: alice, from: home).lease }
        let longest = String(repeating: "a", count: SessionLeaseLimits.maximumIDBytes)
        #expect(!book.open(leases[0], id: longest + "a", token: token, holder: 1))
        #expect(book.open(leases[0], id: longest, token: token, holder: 1))
        #expect(!book.open(leases[1], id: longest, token: token, holder: 2))
        #expect(!book.open(leases[0], id: "other", token: token, holder: 3))
        book.register.release(leases[2])
        #expect(!book.open(leases[2], id: "gone", token: token, holder: 4))
        #expect(book.holders { _, _ in true } == [1])
    }

    // MARK: Everything at once

    @Test(arguments: 1...8 as ClosedRange<UInt64>)
    func `random use exceeds no limit and leaves no entry`(seed: UInt64) {
        var dice = Dice(seed)
        let book = book(perDevice: 3, perAddress: 5)
        let owners = [alice, bob, .anonymous]
        let addresses = [home, away, address("2001:db8::1")]
        var open: [Register.Lease: (owner: Identity, address: IPAddress, id: Int)] = [:]
        for step in 0..<3_000 {
            let lease = open.keys.randomElement(using: &dice)
            switch (Int.random(in: 0..<6, using: &dice), lease) {
            case (0, let lease?):
                book.register.release(lease)
                open[lease] = nil
            case (1, let lease?): book.register.detached(lease, at: (start + step).monotonic)
            case (2, let lease?):
                #expect(book.adopted(lease, by: open[lease]?.id ?? 0))
            case (3, let lease?):
                let claim = book.claim(
                    id: "\(open[lease]?.id ?? 0)", token: "no", owner: open[lease]?.owner ?? alice,
                    at: start + step)
                #expect(claim.isInvalid)
            default:
                let owner = owners[Int.random(in: 0..<3, using: &dice)]
                let from = addresses[Int.random(in: 0..<3, using: &dice)]
                let reservation = book.reserve(for: owner, from: from, at: start + step * 1_000)
                if let evicted = reservation.evicted { open = open.filter { $0.value.id != evicted } }
                guard let lease = reservation.lease else { continue }
                #expect(book.open(lease, id: "\(step)", token: SessionToken(using: &dice), holder: step))
                open[lease] = (owner, from, step)
            }
            #expect(book.register.count == open.count)
            for owner in [alice, bob] { #expect(open.values.count { $0.owner == owner } <= 3) }
            for from in addresses { #expect(open.values.count { $0.address == from } <= 5) }
        }
        for lease in open.keys { book.register.release(lease) }
        #expect(book.register.footprint == 0 && book.register.detachedCount == 0)
    }
}

extension SessionReservation {
    var lease: SessionRegister<Holder>.Lease? {
        switch self {
        case .reserved(let lease), .reservedInPlaceOf(let lease, _): lease
        case .refused: nil
        }
    }

    var evicted: Holder? {
        guard case .reservedInPlaceOf(_, let holder) = self else { return nil }
        return holder
    }

    var refusal: SessionLeaseLimit? {
        guard case .refused(let limit) = self else { return nil }
        return limit
    }
}

extension SessionClaim {
    var isInvalid: Bool {
        guard case .invalid = self else { return false }
        return true
    }

    var isUnderway: Bool {
        if case .underway = self { true } else { false }
    }

    var isUnknown: Bool {
        guard case .unknown = self else { return false }
        return true
    }

    var claimed: (holder: Holder, token: String)? {
        guard case .claimed(_, let holder, let token) = self else { return nil }
        return (holder, token.text)
    }
}
