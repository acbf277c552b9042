import KeyStore
import KeyStorePostgreSQL
import PostgreSQL
import Testing

/// The contract of every store for a sign-in: the use of a passkey and the beginning of a family in one step.
@Suite("A sign-in in a store")
struct SignInContractTests {
    private func store(_ kind: AccountStoreKind) async throws -> (store: any AccountStore, owner: AnyObject?) {
        let (store, owner) = try await kind.make()
        _ = try await store.begin(.sample(1), maximum: 10)
        return (store, owner)
    }

    @Test(arguments: AccountStoreKind.allCases)
    func `records the use and begins the family`(kind: AccountStoreKind) async throws {
        let (store, owner) = try await store(kind)
        let signIn = PasskeySignIn(.sample(1, signCount: 7, isBackedUp: true, time: 1_000), beginning: .sample())
        #expect(try await store.signIn(signIn, spending: SignInMarks()) == .passkey(.used))
        let account = try #require(try await store.account(.sample(1)))
        #expect(account.lastUsedAt == 1_000 && account.passkeys[0].lastUsedAt == 1_000)
        #expect(account.passkeys[0].signCount == 7 && account.passkeys[0].isBackedUp)
        #expect(account.passkeys[0].isUserVerified)
        #expect(try await store.families(of: .sample(1)) == [.sample()])
        #expect(try await store.standing(ofAccount: .sample(1))?.families == [.sample(1)])
        #expect(try await store.use(.sample(0, to: 1)).isRotated)
        withExtendedLifetime(owner) {}
    }

    @Test(arguments: AccountStoreKind.allCases)
    func `that is refused begins no family`(kind: AccountStoreKind) async throws {
        let (store, owner) = try await store(kind)
        _ = try await store.begin(.sample(2), maximum: 10)
        func signIn(_ use: PasskeyUse, _ family: RefreshFamily = .sample()) async throws -> PasskeySigningIn {
            try await store.signIn(PasskeySignIn(use, beginning: family), spending: SignInMarks())
        }
        #expect(try await store.use(.sample(1, signCount: 7), spending: nil) == .used)
        #expect(try await signIn(.sample(1, signCount: 7)) == .passkey(.notHigher(stored: 7)))
        #expect(try await signIn(.sample(9)) == .passkey(.unknown))
        // Another account's passkey.
        #expect(try await signIn(.sample(2)) == .passkey(.unknown))
        #expect(try await store.account(.sample(2))?.lastUsedAt == nil)
        #expect(try await store.close(.sample(1), at: 5))
        #expect(try await signIn(.sample(1, signCount: 8)) == .passkey(.closed))
        for byte in 1...UInt8(2) { #expect(try await store.families(of: .sample(byte)) == []) }
        withExtendedLifetime(owner) {}
    }

    @Test(arguments: AccountStoreKind.allCases)
    func `ends the idlest family beyond their maximum`(kind: AccountStoreKind) async throws {
        let (store, owner) = try await store(kind)
        for number in 1...RefreshLimits.maximumFamilies + 1 {
            let time = 1_000 + Int64(number)
            let signIn = PasskeySignIn(.sample(1, time: time), beginning: .sample(number, at: time))
            #expect(try await store.signIn(signIn, spending: SignInMarks()) == .passkey(.used))
        }
        let names = try await store.families(of: .sample(1)).map(\.id)
        #expect(names == (2...RefreshLimits.maximumFamilies + 1).map { .sample($0) })
        withExtendedLifetime(owner) {}
    }

    @Test(arguments: AccountStoreKind.allCases)
    func `of many with one counter is one`(kind: AccountStoreKind) async throws {
        let (store, owner) = try await store(kind)
        let outcomes = try await withThrowingTaskGroup(of: PasskeySigningIn.self) { group in
            for number in 1...8 {
                group.addTask {
                    try await store.signIn(
                        PasskeySignIn(.sample(1, signCount: 5), beginning: .sample(number)), spending: SignInMarks())
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(outcomes.count { $0 == .passkey(.used) } == 1)
        #expect(outcomes.count { $0 == .passkey(.notHigher(stored: 5)) } == 7)
        #expect(try await store.families(of: .sample(1)).count == 1)
        withExtendedLifetime(owner) {}
    }

    /// Whoever is told of the removal has no family left.
    @Test(arguments: AccountStoreKind.allCases)
    func `leaves no family after the removal of its passkey`(kind: AccountStoreKind) async throws {
        let (store, owner) = try await store(kind)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 1...8 {
                group.addTask {
                    let signIn = PasskeySignIn(.sample(1), beginning: .sample(number))
                    let outcome = try await store.signIn(signIn, spending: SignInMarks())
                    #expect([.passkey(.used), .passkey(.unknown)].contains(outcome))
                }
            }
            group.addTask {
                let isRemoved = try await store.remove(.sample(1), of: .sample(1), at: 5)
                #expect(isRemoved)
            }
            try await group.waitForAll()
        }
        #expect(try await store.families(of: .sample(1)) == [])
        withExtendedLifetime(owner) {}
    }

    // MARK: In a fleet

    @Test func `spends proof and challenge, each once, and changes nothing without them`() async throws {
        let database = try await FleetDatabase()
        let (store, home) = (database.registry, try await database.registry.incarnation())
        _ = try await store.begin(.sample(1), maximum: 10)
        func signIn(
            _ number: Int, proof: UInt64, challenge: UInt64, in other: StoreIncarnation? = nil
        ) async throws -> PasskeySigningIn {
            let marks = SignInMarks(
                proof: (.sample(proof, .tokenProof), other ?? home),
                challenge: (.sample(challenge, .passkeyAuthentication), home))
            return try await store.signIn(
                PasskeySignIn(.sample(1, time: Int64(number)), beginning: .sample(number)), spending: marks)
        }
        #expect(try await signIn(1, proof: 1, challenge: 1) == .passkey(.used))
        #expect(try await signIn(2, proof: 1, challenge: 2) == .proofRefused(.alreadySpent))
        #expect(try await signIn(3, proof: 2, challenge: 1) == .passkey(.refused(.alreadySpent)))
        #expect(try await store.account(.sample(1))?.lastUsedAt == 1)
        #expect(try await store.families(of: .sample(1)).map(\.id) == [.sample(1)])
        // The challenge of the first refusal is unused; the proof of the second one isn't.
        #expect(try await signIn(4, proof: 2, challenge: 2) == .proofRefused(.alreadySpent))
        #expect(try await signIn(5, proof: 3, challenge: 2) == .passkey(.used))
        // A challenge of this incarnation says that the request is fresh, whatever the proof's is.
        let other = try #require(StoreIncarnation(bytes: [UInt8](repeating: 9, count: StoreIncarnation.length)))
        #expect(try await signIn(6, proof: 4, challenge: 3, in: other) == .passkey(.used))
        #expect(try await store.families(of: .sample(1)).count == 3)
    }

    /// The client has got 503, and may have signed in again.
    @Test func `that comes after its gateway has given it up changes nothing`() async throws {
        let database = try await FleetDatabase()
        let (store, home) = (database.registry, try await database.registry.incarnation())
        _ = try await store.begin(.sample(1), maximum: 10)
        func signIn(askedAgo milliseconds: Int64) async throws -> PasskeySigningIn {
            let marks = SignInMarks(
                proof: (.sample(1, .tokenProof), home), challenge: (.sample(1, .passkeyAuthentication), home),
                askedAt: Int64.now - milliseconds)
            return try await store.signIn(PasskeySignIn(.sample(1), beginning: .sample()), spending: marks)
        }
        let limit = Int64(database.options.statementMilliseconds)
        await #expect(throws: KeyRegistryError.busy) { try await signIn(askedAgo: limit + 2_000) }
        #expect(try await store.families(of: .sample(1)) == [])
        #expect(try await signIn(askedAgo: limit - 30_000) == .passkey(.used))
    }

    /// It would end the family that is idlest, for a client that never hears of it.
    @Test func `of a device that comes after its gateway has given it up changes nothing`() async throws {
        let database = try await FleetDatabase()
        let store = database.registry
        _ = try await store.begin(.sample(1), maximum: 10)
        _ = try await store.enrol(.sample(1))
        #expect(try await store.join(.sample(1), to: .sample(1)) == .joined)
        func begin(askedAgo milliseconds: Int64) async throws -> RefreshBeginning {
            try await store.begin(.sample(beginner: .device(.sample(1))), askedAt: Int64.now - milliseconds)
        }
        let limit = Int64(database.options.statementMilliseconds)
        await #expect(throws: KeyRegistryError.busy) { try await begin(askedAgo: limit + 2_000) }
        #expect(try await store.families(of: .sample(1)) == [])
        #expect(try await begin(askedAgo: limit - 30_000) == .begun)
    }

    @Test func `in the store of one gateway spends no marks`() async throws {
        let (store, owner) = try await store(.sqlite)
        let home = try #require(StoreIncarnation(bytes: [UInt8](repeating: 9, count: StoreIncarnation.length)))
        let marks = SignInMarks(challenge: (.sample(1), home))
        await #expect(throws: KeyRegistryError.self) {
            try await store.signIn(PasskeySignIn(.sample(1), beginning: .sample()), spending: marks)
        }
        #expect(try await store.families(of: .sample(1)) == [])
        withExtendedLifetime(owner) {}
    }

    /// A gateway that knows the account without the family asks for it.
    @Test func `is told to nobody`() async throws {
        let database = try await FleetDatabase()
        let feed = PostgreSQLRevocations(of: try database.anotherRegistry())
        _ = try await database.registry.begin(.sample(1), maximum: 10)
        _ = try await feed.news()
        let signIn = PasskeySignIn(.sample(1), beginning: .sample())
        #expect(try await database.registry.signIn(signIn, spending: SignInMarks()) == .passkey(.used))
        let news = try #require(try await feed.news())
        #expect(news.revocations == nil && news.accounts == [])
    }
}
