import KeyStore
import KeyStoreTestKit
import Testing

/// The contract of every store of families of refresh tokens.
@Suite("A store of refresh tokens")
struct RefreshContractTests {
    private func store(_ kind: AccountStoreKind) async throws -> (store: any AccountStore, owner: AnyObject?) {
        let (store, owner) = try await kind.make()
        _ = try await store.begin(.sample(1), maximum: 10)
        #expect(try await store.begin(.sample()) == .begun)
        return (store, owner)
    }

    @Test(arguments: AccountStoreKind.allCases)
    func `keeps a family as it began, and names it with its account`(kind: AccountStoreKind) async throws {
        let (store, owner) = try await store(kind)
        #expect(try await store.families(of: .sample(1)) == [.sample()])
        #expect(try await store.standing(ofAccount: .sample(1))?.families == [.sample(1)])
        #expect(try await store.standing(ofAccount: .sample(1))?.passkeys == [.sample(1)])
        withExtendedLifetime(owner) {}
    }

    @Test(arguments: AccountStoreKind.allCases)
    func `gives a used token its successor, again and again for a while`(kind: AccountStoreKind) async throws {
        let (store, owner) = try await store(kind)
        let outcome = try await store.use(.sample(0, to: 1))
        guard case .rotated(let grant) = outcome else { throw CancellationError() }
        #expect(grant.account.id == .sample(1) && grant.account.families == [.sample(1)])
        #expect(grant.beginner == .passkey(.sample(1)) && grant.expiresAt == 102_000)
        for time in [2_000, 2_001, 62_000, 1_000] as [Int64] {
            #expect(try await store.use(.sample(0, to: 9, at: time)).repeatedSealed == [1])
        }
        #expect(try await store.use(.sample(1, to: 2)).isRotated)
        #expect(try await store.families(of: .sample(1)).map(\.hash) == [tokenHash(2)])
        withExtendedLifetime(owner) {}
    }

    @Test(arguments: AccountStoreKind.allCases)
    func `gives it once more later, and a further repetition ends nothing`(kind: AccountStoreKind) async throws {
        let (store, owner) = try await store(kind)
        func use(_ token: Int, to successor: Int, at time: Int64) async throws -> RefreshOutcome {
            try await store.use(.sample(token, to: successor, at: time, repeating: 10_000))
        }
        _ = try await use(0, to: 1, at: 2_000)
        #expect(try await use(0, to: 9, at: 12_000).repeatedSealed == [1])
        #expect(try await store.families(of: .sample(1)).first?.last?.wasRepeatedLate == false)
        #expect(try await use(0, to: 9, at: 12_001).repeatedSealed == [1])
        let repeated = try await store.families(of: .sample(1))
        #expect(repeated.first?.last?.wasRepeatedLate == true)
        for time in [12_001, 12_002, 90_000] as [Int64] {
            #expect(try await use(0, to: 9, at: time) == .repeatedTooOften(.sample(1)))
        }
        #expect(try await store.families(of: .sample(1)) == repeated)
        // The successor's use has a late repetition of its own.
        #expect(try await use(1, to: 2, at: 22_003).isRotated)
        #expect(try await store.families(of: .sample(1)).first?.last?.wasRepeatedLate == false)
        for time in [32_003, 32_004] as [Int64] { #expect(try await use(1, to: 9, at: time).repeatedSealed == [2]) }
        #expect(try await use(1, to: 9, at: 32_004) == .repeatedTooOften(.sample(1)))
        withExtendedLifetime(owner) {}
    }

    @Test(arguments: AccountStoreKind.allCases)
    func `gives it to one of many late repetitions at once`(kind: AccountStoreKind) async throws {
        let (store, owner) = try await store(kind)
        for token in 0..<20 {
            let time = 2_000 + Int64(token) * 20_001
            #expect(try await store.use(.sample(token, to: token + 1, at: time, repeating: 10_000)).isRotated)
            let late = RefreshUse.sample(token, to: 99, at: time + 10_001, repeating: 10_000)
            async let one = store.use(late)
            async let other = store.use(late)
            async let third = store.use(late)
            let outcomes = try await [one, other, third]
            #expect(outcomes.compactMap(\.repeatedSealed) == [[UInt8(token + 1)]])
            #expect(outcomes.count { $0 == .repeatedTooOften(.sample(1)) } == 2)
        }
        withExtendedLifetime(owner) {}
    }

    @Test(arguments: AccountStoreKind.allCases)
    func `ends a family whose token is used after its successor`(kind: AccountStoreKind) async throws {
        let (store, owner) = try await store(kind)
        _ = try await store.use(.sample(0, to: 1))
        _ = try await store.use(.sample(1, to: 2))
        #expect(try await store.use(.sample(0, to: 9)) == .reused(.sample(1)))
        #expect(try await store.use(.sample(2, to: 3)) == .unknown)
        #expect(try await store.standing(ofAccount: .sample(1))?.families == [])
        withExtendedLifetime(owner) {}
    }

    @Test(arguments: AccountStoreKind.allCases)
    func `changes nothing for another key`(kind: AccountStoreKind) async throws {
        let (store, owner) = try await store(kind)
        let other = [UInt8](repeating: 7, count: RefreshLimits.hashBytes)
        _ = try await store.use(.sample(0, to: 1))
        _ = try await store.use(.sample(1, to: 2))
        for token in 0...3 {
            #expect(try await store.use(.sample(token, to: 9, key: other)) == .wrongKey(.sample(1)))
        }
        #expect(try await store.use(.sample(2, to: 3)).isRotated)
        #expect(try await store.use(.sample(0, to: 1, of: 2)) == .unknown)
        withExtendedLifetime(owner) {}
    }

    @Test(arguments: AccountStoreKind.allCases)
    func `forgets what has expired`(kind: AccountStoreKind) async throws {
        let (store, owner) = try await store(kind)
        #expect(try await store.use(.sample(0, to: 1, at: 101_000)) == .expired)
        #expect(try await store.expireFamilies(at: 100_999) == 0)
        #expect(try await store.use(.sample(0, to: 1, at: 100_999)).isRotated)
        #expect(try await store.expireFamilies(at: 101_000) == 0)
        #expect(try await store.expireFamilies(at: 200_999) == 1)
        #expect(try await store.use(.sample(1, to: 2, at: 102_000)) == .unknown)
        withExtendedLifetime(owner) {}
    }

    @Test(arguments: AccountStoreKind.allCases)
    func `has a maximum of families, of which the idle one ends`(kind: AccountStoreKind) async throws {
        let (store, owner) = try await store(kind)
        for number in 2...RefreshLimits.maximumFamilies {
            #expect(try await store.begin(.sample(number, at: 1_000 + Int64(number))) == .begun)
        }
        #expect(try await store.use(.sample(0, to: 1, at: 3_000)).isRotated)
        #expect(try await store.begin(.sample(500, at: 4_000)) == .begun)
        let names = Set(try await store.families(of: .sample(1)).map(\.id))
        #expect(names.count == RefreshLimits.maximumFamilies)
        #expect(names.contains(.sample(1)) && !names.contains(.sample(2)) && names.contains(.sample(500)))
        withExtendedLifetime(owner) {}
    }

    @Test(arguments: AccountStoreKind.allCases)
    func `ends families by name, account, beginner and altogether`(kind: AccountStoreKind) async throws {
        let (store, owner) = try await store(kind)
        _ = try await store.begin(.sample(2), maximum: 10)
        try await store.enrol(devices: [1])
        _ = try await store.join(.sample(1), to: .sample(1))
        func begin(_ number: Int, _ beginner: RefreshBeginner, account: UInt8 = 1) async throws {
            #expect(try await store.begin(.sample(number, account: account, beginner: beginner)) == .begun)
        }
        #expect(try await store.end(.family(.sample(1)), at: 5) == 1)
        #expect(try await store.end(.family(.sample(1)), at: 5) == 0)
        try await begin(2, .device(.sample(1)))
        try await begin(3, .passkey(.sample(1)))
        #expect(try await store.end(.passkey(.sample(1)), at: 5) == 1)
        #expect(try await store.families(of: .sample(1)).map(\.id) == [.sample(2)])
        #expect(try await store.end(.device(.sample(1)), at: 5) == 1)
        try await begin(4, .device(.sample(1)))
        try await begin(5, .passkey(.sample(2)), account: 2)
        #expect(try await store.end(.account(.sample(1)), at: 5) == 1)
        #expect(try await store.families(of: .sample(2)).map(\.id) == [.sample(5)])
        try await begin(6, .passkey(.sample(1)))
        #expect(try await store.end(.all, at: 5) == 2)
        #expect(try await store.use(.sample(0, to: 1, of: 6)) == .unknown)
        try await begin(7, .passkey(.sample(1)))
        #expect(try await store.use(.sample(0, to: 1, of: 7)).isRotated)
        withExtendedLifetime(owner) {}
    }

    @Test(arguments: AccountStoreKind.allCases)
    func `ends all, however many there are`(kind: AccountStoreKind) async throws {
        let (store, owner) = try await store(kind)
        let accounts = UInt8(RefreshLimits.maximumExpired / RefreshLimits.maximumFamilies + 2)
        var count = 1
        for account in 2...accounts {
            _ = try await store.begin(.sample(account), maximum: 100)
            for _ in 0..<RefreshLimits.maximumFamilies {
                count += 1
                let family = RefreshFamily.sample(
                    count, account: account, beginner: .passkey(.sample(Int(account))))
                #expect(try await store.begin(family) == .begun)
            }
        }
        #expect(count > RefreshLimits.maximumExpired)
        #expect(try await store.end(.all, at: 5) == count)
        for account in 1...accounts { #expect(try await store.families(of: .sample(account)).isEmpty) }
        #expect(try await store.end(.all, at: 6) == 0)
        withExtendedLifetime(owner) {}
    }

    @Test(arguments: AccountStoreKind.allCases)
    func `ends a family with what began it`(kind: AccountStoreKind) async throws {
        let (store, owner) = try await store(kind)
        _ = try await store.add(.sample(11), to: .sample(1))
        try await store.enrol(devices: [1])
        _ = try await store.join(.sample(1), to: .sample(1))
        _ = try await store.begin(.sample(2, beginner: .passkey(.sample(11))))
        _ = try await store.begin(.sample(3, beginner: .device(.sample(1))))
        #expect(try await store.remove(.sample(11), of: .sample(1), at: 5))
        #expect(try await store.use(.sample(0, to: 1, of: 2)) == .unknown)
        #expect(try await store.remove(device: .sample(1), of: .sample(1), at: 5))
        #expect(try await store.use(.sample(0, to: 1, of: 3)) == .unknown)
        #expect(try await store.begin(.sample(4, beginner: .passkey(.sample(11)))) == .ended)
        #expect(try await store.begin(.sample(5, beginner: .device(.sample(1)))) == .ended)
        #expect(try await store.close(.sample(1), at: 5))
        #expect(try await store.use(.sample(0, to: 1)) == .unknown)
        #expect(try await store.begin(.sample(6)) == .ended)
        #expect(try await store.begin(.sample(7, account: 9)) == .ended)
        withExtendedLifetime(owner) {}
    }

    @Test(arguments: AccountStoreKind.allCases)
    func `gives pairs of equal uses one successor`(kind: AccountStoreKind) async throws {
        let (store, owner) = try await store(kind)
        for token in 0..<100 {
            async let one = store.use(.sample(token, to: token + 1))
            async let other = store.use(.sample(token, to: token + 1))
            let outcomes = try await [one, other]
            #expect(outcomes.count(where: \.isRotated) == 1)
            #expect(outcomes.compactMap(\.repeatedSealed) == [[UInt8(token + 1)]])
        }
        #expect(try await store.families(of: .sample(1)).map(\.hash) == [tokenHash(100)])
        withExtendedLifetime(owner) {}
    }

    /// Token 0 is good until 101,000, and its successor until 200,000.
    @Test(arguments: AccountStoreKind.allCases)
    func `repeats no use of a token that has expired since`(kind: AccountStoreKind) async throws {
        let (store, owner) = try await store(kind)
        #expect(try await store.use(.sample(0, to: 1, at: 100_000)).isRotated)
        #expect(try await store.use(.sample(0, to: 2, at: 100_999)).repeatedSealed == [1])
        #expect(try await store.use(.sample(0, to: 2, at: 101_000)) == .expired)
        #expect(try await store.use(.sample(1, to: 2, at: 101_000)).isRotated)
        withExtendedLifetime(owner) {}
    }

    /// It makes a repetition late. When it is right again, the window is, too.
    @Test(arguments: AccountStoreKind.allCases)
    func `a clock that is set back leaves one late repetition`(kind: AccountStoreKind) async throws {
        let (store, owner) = try await store(kind)
        func use(at time: Int64) async throws -> RefreshOutcome {
            try await store.use(.sample(0, to: 2, at: time, repeating: 10_000))
        }
        #expect(try await store.use(.sample(0, to: 1, at: 90_000)).isRotated)
        #expect(try await use(at: 20_000).repeatedSealed == [1])
        for time in [20_000, 79_999, 9_999] as [Int64] {
            #expect(try await use(at: time) == .repeatedTooOften(.sample(1)))
        }
        for time in [80_000, 100_000] as [Int64] { #expect(try await use(at: time).repeatedSealed == [1]) }
        withExtendedLifetime(owner) {}
    }

    @Test(arguments: AccountStoreKind.allCases)
    func `has no token that is good after an end`(kind: AccountStoreKind) async throws {
        let (store, owner) = try await store(kind)
        for number in 2..<30 {
            _ = try await store.begin(.sample(number, at: 1_000 + Int64(number)))
            async let use = store.use(.sample(0, to: 1, of: number))
            async let end = store.end(.account(.sample(1)), at: 5)
            _ = try await (use, end)
            #expect(try await store.use(.sample(1, to: 2, of: number)) == .unknown)
            #expect(try await store.use(.sample(0, to: 2, of: number)) == .unknown)
        }
        withExtendedLifetime(owner) {}
    }
}
