import KeyStore
import KeyStoreTestKit
import Testing

/// The contract of every store that several gateways share.
@Suite("A shared store")
struct SharedRegistryContractTests {
    enum Kind: CaseIterable, Sendable {
        case memory, postgresql

        /// The same store through two gateways.
        func make() async throws -> (gateways: [any SharedKeyRegistry], owner: AnyObject?) {
            switch self {
            case .memory:
                let store = MemorySharedRegistry(.sample(1))
                return ([store, store], nil)
            case .postgresql:
                let database = try await FleetDatabase()
                return ([database.registry, try database.anotherRegistry()], database)
            }
        }
    }

    private func use(_ mark: UInt64, _ counter: UInt32, key: KeyID = .sample(1)) -> AssertionUse {
        AssertionUse(mark: .sample(mark), key: key, counter: counter, time: 77)
    }

    @Test(arguments: Kind.allCases)
    func `admits a new challenge with a higher counter, and records both`(kind: Kind) async throws {
        let (gateways, owner) = try await kind.make()
        let home = try await gateways[0].incarnation()
        #expect(try await gateways[1].incarnation() == home)
        _ = try await gateways[0].enrol(.sample(counter: 4))
        #expect(try await gateways[1].admit(use(1, 5), in: home) == .admitted)
        #expect(try await gateways[0].key(.sample(1))?.counter == 5)
        #expect(try await gateways[0].key(.sample(1))?.lastUsedAt == 77)
        #expect(try await gateways[0].admit(use(1, 6), in: home) == .refused(.alreadySpent))
        #expect(try await gateways[0].key(.sample(1))?.counter == 5)
        #expect(try await gateways[0].admit(use(2, .max), in: home) == .admitted)
        withExtendedLifetime(owner) {}
    }

    @Test(arguments: Kind.allCases)
    func `says when its incarnation began, to all alike`(kind: Kind) async throws {
        let (gateways, owner) = try await kind.make()
        let (one, other) = (try await gateways[0].present(), try await gateways[1].present())
        #expect(one.incarnation == other.incarnation && one.began == other.began)
        #expect(one.began <= one.time && one.time <= other.time)
        withExtendedLifetime(owner) {}
    }

    @Test(arguments: Kind.allCases)
    func `says why a counter wasn't raised; the challenge is spent then`(kind: Kind) async throws {
        let (gateways, owner) = try await kind.make()
        let home = try await gateways[0].incarnation()
        _ = try await gateways[0].enrol(.sample(1, counter: 4))
        _ = try await gateways[0].enrol(.sample(2))
        _ = try await gateways[0].revoke(.sample(2), reason: "lost", at: 5)
        #expect(try await gateways[0].admit(use(1, 4), in: home) == .notAdvanced(.notHigher(stored: 4)))
        #expect(try await gateways[0].admit(use(2, 9, key: .sample(2)), in: home) == .notAdvanced(.revoked))
        #expect(try await gateways[0].admit(use(3, 9, key: .sample(3)), in: home) == .notAdvanced(.unknownKey))
        for mark in UInt64(1)...3 {
            #expect(try await gateways[1].spend(.sample(mark), in: home) == .alreadySpent)
        }
        #expect(try await gateways[0].key(.sample(1))?.counter == 4)
        #expect(try await gateways[0].key(.sample(2))?.counter == 0)
        withExtendedLifetime(owner) {}
    }

    @Test(arguments: Kind.allCases)
    func `admits exactly one of many gateways with the same assertion`(kind: Kind) async throws {
        let (gateways, owner) = try await kind.make()
        let home = try await gateways[0].incarnation()
        _ = try await gateways[0].enrol(.sample())
        for counter in UInt32(1)...20 {
            let outcomes = try await race(16, gateways) { store, _ in
                try await store.admit(use(UInt64(counter), counter), in: home)
            }
            #expect(outcomes.count { $0 == .admitted } == 1)
            #expect(outcomes.count { $0 == .refused(.alreadySpent) } == 15)
        }
        withExtendedLifetime(owner) {}
    }

    @Test(arguments: Kind.allCases)
    func `admits exactly one of many challenges with the same counter`(kind: Kind) async throws {
        let (gateways, owner) = try await kind.make()
        let home = try await gateways[0].incarnation()
        _ = try await gateways[0].enrol(.sample())
        for counter in UInt32(1)...20 {
            let outcomes = try await race(16, gateways) { store, racer in
                try await store.admit(use(UInt64(counter) * 100 + UInt64(racer), counter), in: home)
            }
            #expect(outcomes.count { $0 == .admitted } == 1)
            #expect(outcomes.count { $0 == .notAdvanced(.notHigher(stored: counter)) } == 15)
        }
        withExtendedLifetime(owner) {}
    }

    @Test(arguments: Kind.allCases)
    func `spends each mark once, each kind for itself`(kind: Kind) async throws {
        let (gateways, owner) = try await kind.make()
        let home = try await gateways[0].incarnation()
        for mark in SingleUseMark.Kind.allCases {
            let outcomes = try await race(8, gateways) { store, _ in try await store.spend(.sample(7, mark), in: home) }
            #expect(outcomes.count { $0 == .spent } == 1)
            #expect(outcomes.count { $0 == .alreadySpent } == 7)
        }
        withExtendedLifetime(owner) {}
    }

    @Test(arguments: Kind.allCases)
    func `refuses everything of another incarnation, and changes nothing`(kind: Kind) async throws {
        let (gateways, owner) = try await kind.make()
        let home = try await gateways[0].incarnation()
        _ = try await gateways[0].enrol(.sample())
        let foreign = StoreIncarnation.sample(0xEE)
        let ticket = try #require(SealedTicket(hash: [UInt8](repeating: 3, count: 32), sealed: [1], expires: 900))
        #expect(try await gateways[0].admit(use(1, 5), in: foreign) == .refused(.foreign))
        #expect(try await gateways[0].spend(.sample(1), in: foreign) == .foreign)
        #expect(try await gateways[0].keep(ticket, in: foreign) == .foreign)
        #expect(try await gateways[0].keep(ticket, in: home) == .spent)
        #expect(try await gateways[0].takeTicket(hash: ticket.hash, at: 1, in: foreign) == nil)
        #expect(try await gateways[0].takeTicket(hash: ticket.hash, at: 1, in: home)?.ticket == ticket)
        #expect(try await gateways[0].admit(use(1, 5), in: home) == .admitted)
        withExtendedLifetime(owner) {}
    }

    @Test(arguments: Kind.allCases)
    func `gives a ticket to exactly one taker before it expires`(kind: Kind) async throws {
        let (gateways, owner) = try await kind.make()
        let home = try await gateways[0].incarnation()
        let sealed = [UInt8](repeating: 9, count: SealedTicket.maximumBytes)
        for number in UInt8(1)...5 {
            let hash = [UInt8](repeating: number, count: 32)
            let ticket = try #require(SealedTicket(hash: hash, sealed: sealed, expires: 1_000))
            #expect(try await gateways[0].keep(ticket, in: home) == .spent)
            #expect(try await gateways[1].keep(ticket, in: home) == .alreadySpent)
            let taken = try await race(8, gateways) { store, _ in
                try await store.takeTicket(hash: hash, at: number == 5 ? 1_000 : 999, in: home)
            }
            #expect(taken.compactMap(\.self) == (number == 5 ? [] : [TakenTicket(ticket, remaining: 0)]))
        }
        #expect(SealedTicket(hash: [1], sealed: [], expires: 0) == nil)
        #expect(SealedTicket(hash: [UInt8](repeating: 1, count: 32), sealed: sealed + [0], expires: 0) == nil)
        withExtendedLifetime(owner) {}
    }

    @Test(arguments: Kind.allCases)
    func `gives a ticket to as many takers at once as it has uses`(kind: Kind) async throws {
        let (gateways, owner) = try await kind.make()
        let home = try await gateways[0].incarnation()
        let ticket = try #require(SealedTicket(hash: [UInt8](repeating: 1, count: 32), sealed: [9], expires: 1_000))
        #expect(try await gateways[0].keep(ticket, uses: 80, in: home) == .spent)
        let taken = try await race(8, gateways) { store, _ in
            var taken: [TakenTicket] = []
            while let one = try await store.takeTicket(hash: ticket.hash, at: 1, in: home) { taken.append(one) }
            return taken
        }.flatMap(\.self)
        #expect(taken.map(\.remaining).sorted() == Array(0..<80))
        #expect(taken.allSatisfy { $0.ticket == ticket })
        withExtendedLifetime(owner) {}
    }

    @Test(arguments: Kind.allCases)
    func `takes a use of a ticket back, also the last one`(kind: Kind) async throws {
        let (gateways, owner) = try await kind.make()
        let home = try await gateways[0].incarnation()
        let ticket = try #require(SealedTicket(hash: [UInt8](repeating: 1, count: 32), sealed: [9], expires: 1_000))
        #expect(try await gateways[0].keep(ticket, uses: 2, in: home) == .spent)
        // More often than it has uses: at any time at most two of them are out, and at the end none is.
        _ = try await race(8, gateways) { store, _ in
            for _ in 0..<20 where try await store.takeTicket(hash: ticket.hash, at: 1, in: home) != nil {
                #expect(try await store.giveBack(ticket, in: home) == .spent)
            }
        }
        #expect(try await gateways[0].giveBack(ticket, in: .sample(0xEE)) == .foreign)
        for remaining in [1, 0] {
            let taken = try await gateways[1].takeTicket(hash: ticket.hash, at: 1, in: home)
            #expect(taken?.remaining == remaining)
        }
        #expect(try await gateways[0].takeTicket(hash: ticket.hash, at: 1, in: home) == nil)
        #expect(try await gateways[0].keep(ticket, uses: 2, in: home) == .spent)
        try await gateways[0].discardTicket(hash: ticket.hash)
        #expect(try await gateways[0].takeTicket(hash: ticket.hash, at: 1, in: home) == nil)
        withExtendedLifetime(owner) {}
    }

    @Test(arguments: Kind.allCases)
    func `forgets expired marks and refuses them, and no others`(kind: Kind) async throws {
        let (gateways, owner) = try await kind.make()
        let home = try await gateways[0].incarnation()
        let (old, new) = (SingleUseMark.sample(1, expires: 500), SingleUseMark.sample(2, expires: 501))
        for mark in [old, new] { #expect(try await gateways[0].spend(mark, in: home) == .spent) }
        try await gateways[1].forgetMarks(expiredAt: 500, maximum: 100)
        #expect(try await gateways[0].spend(old, in: home) == .expired)
        #expect(try await gateways[0].spend(new, in: home) == .alreadySpent)
        // A gateway whose clock is late changes nothing.
        try await gateways[1].forgetMarks(expiredAt: 100, maximum: 100)
        #expect(try await gateways[0].spend(old, in: home) == .expired)
        #expect(try await gateways[0].spend(.sample(3, expires: 500), in: home) == .expired)
        withExtendedLifetime(owner) {}
    }

    @Test(arguments: Kind.allCases)
    func `has a maximum of marks, and forgets none before its time`(kind: Kind) async throws {
        let (gateways, owner) = try await kind.make()
        let home = try await gateways[0].incarnation()
        for number in UInt64(1)...4 {
            #expect(try await gateways[0].spend(.sample(number, expires: Int64(number)), in: home) == .spent)
        }
        try await gateways[0].forgetMarks(expiredAt: 0, maximum: 4)
        #expect(try await gateways[0].spend(.sample(5), in: home) == .spent)
        try await gateways[0].forgetMarks(expiredAt: 0, maximum: 4)
        #expect(try await gateways[0].spend(.sample(6), in: home) == .full)
        #expect(try await gateways[0].spend(.sample(5), in: home) == .alreadySpent)
        try await gateways[0].forgetMarks(expiredAt: 1, maximum: 4)
        #expect(try await gateways[0].spend(.sample(6), in: home) == .spent)
        withExtendedLifetime(owner) {}
    }

    private func race<Outcome: Sendable>(
        _ count: Int, _ gateways: [any SharedKeyRegistry],
        _ body: @escaping @Sendable (any SharedKeyRegistry, Int) async throws -> Outcome
    ) async throws -> [Outcome] {
        try await withThrowingTaskGroup(of: Outcome.self) { group in
            for racer in 0..<count {
                let store = gateways[racer % gateways.count]
                group.addTask { try await body(store, racer) }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
    }
}
