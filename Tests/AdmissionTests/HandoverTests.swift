import KeyStore
import StateCoding
import Testing
import WireText

@testable import Admission

/// What the process that replaces another one must know of its clients, so that nothing is used twice and nothing is
/// lost.
@Suite("A process that takes over") struct HandoverTests {
    private func crossed<Value: Codable>(_ value: Value) throws -> Value {
        try StateDecoder.decode(Value.self, from: try StateEncoder.bytes(of: value))
    }

    @Test func `serves challenges of the one before once, and refuses those that were used there`() throws {
        let old = Challenges(epoch: epoch)
        let (used, unused) = (old.issue(at: start).nonce, old.issue(at: start).nonce)
        let (forToken, forBoth) = (old.issueForToken(at: start).nonce, old.issueForToken(at: start).nonce)
        #expect(old.spend(used, at: start.monotonic).isSpent)
        #expect(old.spend(forToken, for: .token, at: start.monotonic).isSpent)
        #expect(old.spend(forBoth, for: .registration, at: start.monotonic).isSpent)
        let (usedSigned, signed) = (old.issueForSigned(at: start).nonce, old.issueForSigned(at: start).nonce)
        #expect(old.spendSigned(usedSigned, at: start.monotonic).isSpent)
        let new = Challenges(epoch: start.monotonic)
        #expect(new.spend(unused, at: start.monotonic).detail == "challenge is not of this process")
        try new.restore(crossed(old.carried))
        #expect(new.spentCount == 4)
        let later = (start + 1_000).monotonic
        #expect(new.refusalOfSigned(usedSigned, at: later)?.detail == "challenge was already used")
        #expect(new.refusalOfSigned(signed, at: later) == nil && new.spendSigned(signed, at: later).isSpent)
        #expect(new.spend(used, at: later).detail == "challenge was already used")
        #expect(new.spend(forToken, for: .token, at: later).detail == "challenge was already used")
        #expect(new.spend(forBoth, for: .registration, at: later).detail == "challenge was already used")
        #expect(new.spend(forBoth, for: .token, at: later).isSpent)
        #expect(new.spend(unused, at: later).isSpent && !new.spend(unused, at: later).isSpent)
        #expect(new.spend(old.issue(at: start).nonce, at: (start + 60_000).monotonic).detail == "challenge has expired")
        #expect(new.spend(new.issue(at: start + 1_000).nonce, at: later).isSpent)
    }

    /// The one before has forgotten which of them were used.
    @Test func `refuses what had expired for the one before, however long challenges live for itself`() throws {
        let old = Challenges(epoch: epoch, timeToLive: .seconds(10))
        let (used, unused) = (old.issue(at: start).nonce, old.issue(at: start + 30_000).nonce)
        #expect(old.spend(used, at: start.monotonic).isSpent)
        #expect(old.spend(old.issue(at: start + 30_000).nonce, at: (start + 30_000).monotonic).isSpent)
        let new = Challenges(epoch: epoch, timeToLive: .seconds(600))
        try new.restore(crossed(old.carried))
        #expect(new.spend(used, at: (start + 30_000).monotonic).detail == "challenge has expired")
        #expect(new.spend(unused, at: (start + 60_000).monotonic).isSpent)
    }

    /// With a maximum of its own that is lower: to forget one would be to accept it again.
    @Test func `forgets no used challenge for want of room`() throws {
        let old = Challenges(epoch: epoch)
        let nonces = (0..<100).map { _ in old.issue(at: start).nonce }
        for nonce in nonces { #expect(old.spend(nonce, at: start.monotonic).isSpent) }
        let new = Challenges(epoch: epoch, maximumSpent: 10)
        try new.restore(crossed(old.carried))
        for nonce in nonces { #expect(!new.spend(nonce, at: start.monotonic).isSpent) }
    }

    private var carrier: PrincipalCarrier {
        Gate(GateSettings(drain: DrainSwitch(), leases: SessionLeases(maximum: 1), methods: GateSettings.unconfigured))
            .carrier
    }

    @Test func `knows clients by the proof that they showed`() throws {
        for principal in [Principal(debugging: .good), .anonymous, Principal(debugging: .good).comingBack] {
            let carried = try #require(carrier.carry(principal))
            let restored = try carrier.restore(crossed(carried))
            #expect(restored.identity == principal.identity && restored.isByToken == principal.isByToken)
            #expect(restored.ticketChainEnd == principal.ticketChainEnd)
            let (one, other) = (restored.proof as? ClientCertificateProof, principal.proof as? ClientCertificateProof)
            #expect(one?.chain == other?.chain && one?.number == other?.number && one?.subject == other?.subject)
        }
        let unknown = CarriedPrincipal(
            identity: CarriedIdentity(
                Identity(method: MethodName(label: "palm", route: nil, holders: .one), subject: "x")),
            proof: nil, ticketChainEnd: nil, secret: nil, isByToken: false)
        #expect(throws: CarriedStateFault.self) { try carrier.restore(unknown) }
    }

    @Test(arguments: [String(repeating: "x", count: 257), "a\u{301}", ""])
    func `knows nobody by a name that no identity has`(subject: String) throws {
        let longest = String(repeating: "x", count: 256)
        #expect(
            try carrier.restore(CarriedIdentity(.init(method: TicketMethod.name, subject: longest))).subject == longest)
        let carried = CarriedIdentity(Identity(method: TicketMethod.name, subject: subject))
        #expect(throws: CarriedStateFault.self) { try carrier.restore(carried) }
    }

    @Test func `accepts tickets as often as is left`() throws {
        let old = TicketOffice()
        guard case .issued(let twice) = old.issueForOperator(timeToLive: .seconds(60), uses: 2, at: start.monotonic),
            case .issued(let used) = old.issue(to: Principal(debugging: .good), at: start.monotonic),
            case .issued(let unused) = old.issue(to: Principal(debugging: .good), at: start.monotonic),
            case .spent(let first) = old.spend(twice.ticket.text, at: start.monotonic),
            case .spent = old.spend(used.ticket.text, at: start.monotonic)
        else {
            Issue.record("no tickets")
            return
        }
        let new = TicketOffice()
        for ticket in try crossed(old.carried(by: carrier)) {
            #expect(try new.restore(ticket, by: carrier, at: start.monotonic))
        }
        #expect(new.count == 2)
        #expect(new.spend(used.ticket.text, at: start.monotonic).isUnknown)
        guard case .spent(let second) = new.spend(twice.ticket.text, at: start.monotonic),
            case .spent(let owned) = new.spend(unused.ticket.text, at: start.monotonic)
        else {
            Issue.record("a ticket was lost")
            return
        }
        #expect(second.identity == first.identity && owned.identity == Principal(debugging: .good).identity)
        #expect(second.isShared && !owned.isShared)
        #expect((owned.proof as? ClientCertificateProof)?.number == ClientCertificateProof(.good).number)
        #expect(new.spend(twice.ticket.text, at: start.monotonic).isUnknown && new.count == 0)
    }

    @Test(
        arguments: [
            (Identity(method: AppAttestMethod.name, subject: "x"), false, false),
            (Identity.certificate(sha256: [UInt8](repeating: 1, count: 32)), true, true),
            (Identity(method: TicketMethod.name, subject: "x"), false, true),
            (Identity(method: TicketMethod.name, subject: "x"), true, true),
        ] as [(Identity, Bool, Bool)])
    func `knows whose sessions several clients may have, and takes the worse from programs that don't say`(
        identity: Identity, isShared: Bool, isSharedUnsaid: Bool
    ) throws {
        let principal = Principal(identity, proof: nil, isOfSharedTicket: isShared)
        var carried = try crossed(try #require(carrier.carry(principal)))
        #expect(try carrier.restore(carried).owner == principal.owner)
        carried.isOfSharedTicket = nil
        #expect(try carrier.restore(carried).owner.isShared == isSharedUnsaid)

        var register = SessionRegister<String>()
        let reservation = register.reserve(for: principal.owner, from: address("192.0.2.1"), at: start.monotonic)
        let lease = try #require(reservation.lease)
        var dice = Dice(4)
        register.open(lease, id: "s1", token: SessionToken(using: &dice), of: principal, holder: "old")
        register.detached(lease, at: start.monotonic)
        var session = try crossed(try #require(register.carried(lease, carrier.carry)))
        #expect(try owner(of: session, identity) == principal.owner)
        session.isShared = nil
        #expect(try owner(of: session, identity).isShared == isSharedUnsaid)
    }

    private func owner(of session: CarriedSession, _ identity: Identity) throws -> SessionOwner {
        var register = SessionRegister<String>()
        let restored = register.restore(session, of: identity, at: address("192.0.2.1"), bearer: nil, holder: "new")
        let lease = try #require(restored)
        return try #require(register.entries[lease]).owner
    }

    @Test func `gives a session to its owner, by the tokens that were good before`() throws {
        let owner = Principal(debugging: .good)
        var dice = Dice(3)
        let first = SessionToken(using: &dice)
        var old = SessionRegister<String>()
        guard case .reserved(let lease) = old.reserve(for: owner.owner, from: address("192.0.2.1"), at: start.monotonic)
        else {
            Issue.record("no lease")
            return
        }
        old.open(lease, id: "s1", token: first, of: owner, holder: "old")
        guard
            case .claimed(_, _, let second) = old.claim(
                id: "s1", token: first.text, owner: owner.identity, at: start.monotonic, using: &dice)
        else {
            Issue.record("no claim")
            return
        }
        #expect(old.carried(lease, carrier.carry) == nil, "it is being moved")
        _ = old.adopted(lease, by: "old", detachedAt: start.monotonic)
        let carried = try crossed(try #require(old.carried(lease, carrier.carry)))
        for token in [first, second] {
            var new = SessionRegister<String>()
            let restored = new.restore(
                carried, of: try carrier.restore(carried.owner), at: address("192.0.2.1"), bearer: nil, holder: "new")
            #expect(
                restored != nil && new.detachedCount == 1 && new.hasSession(owner.identity, from: address("192.0.2.1")))
            let stranger = new.claim(
                id: "s1", token: token.text, owner: .anonymous, at: start.monotonic, using: &dice)
            guard case .invalid = stranger else {
                Issue.record("another identity got the session")
                return
            }
            guard
                case .claimed(_, "new", _) = new.claim(
                    id: "s1", token: token.text, owner: owner.identity, at: start.monotonic, using: &dice)
            else {
                Issue.record("the owner didn't get its session")
                return
            }
        }
    }

    @Test func `admits nobody while it hands over, and again when it takes that back`() throws {
        let drain = DrainSwitch()
        drain.isHandingOver = true
        #expect(drain.refusesNewcomers && !drain.isDraining)
        drain.isHandingOver = false
        #expect(!drain.refusesNewcomers)
    }
}
