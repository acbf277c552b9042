import KeyStore
import KeyStoreTestKit
import Testing

/// All stores follow the rule of `KeyCounters`.
@Suite("The window of counters in a store")
struct CounterWindowContractTests {
    private func use(
        _ counter: UInt32, _ size: Int = 32, lower: Bool = true, rise: UInt32 = 1_000_000
    ) throws -> CounterUse {
        CounterUse(
            counter, in: try #require(CounterWindow(size: size)), admitsLower: lower, maximumRise: rise)
    }

    @Test(arguments: StorePart.all)
    func `each store does what the rule says`(kind: RegistryKind, part: StorePart) async throws {
        let (registry, owner) = try await kind.make()
        let id = DeviceKey.sample().id
        _ = try await registry.enrol(.sample(counter: 3))
        var rule = KeyCounters(highest: 3)
        var state: UInt64 = 7
        for step in 0..<400 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            let distance = Int64(state >> 33) % 150 - 75
            let counter = UInt32(max(0, Int64(rule.highest) + distance))
            let sizes = [32, 64, 0, 1, 2, 63]
            let use = try use(counter, sizes[step / 7 % sizes.count], lower: step % 5 != 0, rise: 70)
            let expected = rule.take(use)
            #expect(try await part.use(use, of: id, at: Int64(step), in: registry) == expected)
        }
        #expect(try await registry.key(id)?.counter == rule.highest)
        withExtendedLifetime(owner) {}
    }

    @Test(arguments: StorePart.all)
    func `the last numbers have a window, too`(kind: RegistryKind, part: StorePart) async throws {
        let (registry, owner) = try await kind.make()
        let id = DeviceKey.sample().id
        _ = try await registry.enrol(.sample(counter: .max - 100))
        #expect(try await part.use(use(.max), of: id, at: 1, in: registry) == .advanced)
        #expect(try await part.use(use(.max - 31), of: id, at: 2, in: registry) == .advanced)
        #expect(try await part.use(use(.max - 32), of: id, at: 3, in: registry) == .notHigher(stored: .max))
        #expect(try await registry.key(id)?.lastUsedAt == 2)
        withExtendedLifetime(owner) {}
    }

    @Test(arguments: StorePart.all)
    func `a rise beyond the limit changes nothing`(kind: RegistryKind, part: StorePart) async throws {
        let (registry, owner) = try await kind.make()
        let id = DeviceKey.sample().id
        _ = try await registry.enrol(.sample(counter: 5))
        #expect(try await part.use(use(1_000_006), of: id, at: 1, in: registry) == .tooHigh(stored: 5))
        #expect(try await registry.key(id)?.counter == 5)
        #expect(try await part.use(use(1_000_005), of: id, at: 2, in: registry) == .advanced)
        #expect(try await part.use(use(7, rise: .max), of: .sample(9), at: 3, in: registry) == .unknownKey)
        _ = try await registry.revoke(id, reason: "lost", at: 4)
        #expect(try await part.use(use(1_000_004), of: id, at: 5, in: registry) == .revoked)
        withExtendedLifetime(owner) {}
    }

    @Test(arguments: StorePart.all)
    func `a new registration keeps the window`(kind: RegistryKind, part: StorePart) async throws {
        let (registry, owner) = try await kind.make()
        let key = DeviceKey.sample()
        _ = try await registry.enrol(key)
        #expect(try await part.use(use(10), of: key.id, at: 1, in: registry) == .advanced)
        #expect(try await part.use(use(8), of: key.id, at: 2, in: registry) == .advanced)
        #expect(try await registry.enrol(key) == .alreadyEnrolled)
        #expect(try await part.use(use(8), of: key.id, at: 3, in: registry) == .notHigher(stored: 10))
        #expect(try await part.use(use(9), of: key.id, at: 4, in: registry) == .advanced)
        _ = try await registry.forget(key.id)
        _ = try await registry.enrol(key)
        #expect(try await part.use(use(1), of: key.id, at: 5, in: registry) == .advanced)
        withExtendedLifetime(owner) {}
    }

    /// As after a program that knows no window has raised it, or another store's record was taken over.
    @Test(arguments: StorePart.all)
    func `a counter that rises in another way leaves nothing open below it`(
        kind: RegistryKind, part: StorePart
    ) async throws {
        let (registry, owner) = try await kind.make()
        let key = DeviceKey.sample()
        _ = try await registry.enrol(key)
        #expect(try await part.use(use(10), of: key.id, at: 1, in: registry) == .advanced)
        _ = try await registry.enrol(.sample(counter: 14))
        for counter in UInt32(1)...14 {
            #expect(try await part.use(use(counter), of: key.id, at: 2, in: registry) == .notHigher(stored: 14))
        }
        #expect(try await part.use(use(16), of: key.id, at: 3, in: registry) == .advanced)
        #expect(try await part.use(use(15), of: key.id, at: 4, in: registry) == .advanced)
        withExtendedLifetime(owner) {}
    }

    @Test(arguments: RegistryKind.allCases)
    func `each counter passes once, whoever asks at the same time`(kind: RegistryKind) async throws {
        let (registry, owner) = try await kind.make()
        let id = DeviceKey.sample().id
        _ = try await registry.enrol(.sample())
        let window = try #require(CounterWindow(size: 32))
        let passed = try await withThrowingTaskGroup(of: (UInt32, CounterAdvance).self) { group in
            for racer in 0..<120 {
                let counter = UInt32(racer % 30 + 1)
                group.addTask {
                    let use = CounterUse(counter, in: window, admitsLower: true)
                    while true {
                        do throws(KeyRegistryError) {
                            return (counter, try await registry.use(use, of: id, at: 1))
                        } catch {
                            // So many calls may wait for a file whose disk is slow.
                            guard error == .queueFull else { throw error }
                            await Task.yield()
                        }
                    }
                }
            }
            return try await group.reduce(into: [UInt32]()) { if $1.1 == .advanced { $0.append($1.0) } }
        }
        #expect(passed.sorted() == Array(1...30))
        withExtendedLifetime(owner) {}
    }
}
