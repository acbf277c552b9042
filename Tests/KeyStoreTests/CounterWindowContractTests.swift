import KeyStore
import KeyStoreSQLite
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
                    return (counter, try await patiently(use, of: id, in: registry))
                }
            }
            return try await group.reduce(into: [UInt32]()) { if $1.1 == .advanced { $0.append($1.0) } }
        }
        #expect(passed.sorted() == Array(1...30))
        withExtendedLifetime(owner) {}
    }

    private func patiently(
        _ use: CounterUse, of id: KeyID, in registry: any KeyRegistry
    ) async throws -> CounterAdvance {
        while true {
            do throws(KeyRegistryError) {
                return try await registry.use(use, of: id, at: 1)
            } catch {
                // So many calls may wait for a file whose disk is slow.
                guard error == .queueFull else { throw error }
                await Task.yield()
            }
        }
    }

    // MARK: The window in force

    /// - Parameter former: of a gateway that is reloaded; nil: it starts.
    private func put(_ size: Int, after former: Int? = nil, in store: any KeyRegistry) throws {
        let former = try former.map { try #require(CounterWindow(size: $0)) }
        let window = try #require(CounterWindow(size: size))
        try #require(store as? any CounterWindowStore).putInForce(window, after: former)
    }

    /// - Parameter size: of a gateway that is left.
    private func narrow(to size: Int, in store: any KeyRegistry) throws {
        let window = try #require(CounterWindow(size: size))
        try #require(store as? any SharedCounterWindowStore).narrow(to: window)
    }

    @Test(arguments: StorePart.all)
    func `a window that is switched off and on again opens nothing that lies before`(
        kind: RegistryKind, part: StorePart
    ) async throws {
        let (registry, owner) = try await kind.make()
        let id = DeviceKey.sample().id
        try put(32, in: registry)
        _ = try await registry.enrol(.sample())
        #expect(try await part.use(use(20), of: id, at: 1, in: registry) == .advanced)
        #expect(try await part.use(use(18), of: id, at: 2, in: registry) == .advanced)
        for size in [0, 32] { try put(size, in: registry) }
        for counter in UInt32(1)...20 {
            #expect(try await part.use(use(counter), of: id, at: 3, in: registry) == .notHigher(stored: 20))
        }
        #expect(try await part.use(use(22), of: id, at: 4, in: registry) == .advanced)
        #expect(try await part.use(use(21), of: id, at: 5, in: registry) == .advanced)
        #expect(try await part.use(use(19), of: id, at: 6, in: registry) == .notHigher(stored: 22))
        withExtendedLifetime(owner) {}
    }

    @Test(arguments: StorePart.all)
    func `a narrower window closes nothing within it, and a wider one after it opens nothing`(
        kind: RegistryKind, part: StorePart
    ) async throws {
        let (registry, owner) = try await kind.make()
        let id = DeviceKey.sample().id
        try put(32, in: registry)
        _ = try await registry.enrol(.sample())
        #expect(try await part.use(use(40), of: id, at: 1, in: registry) == .advanced)
        try put(8, in: registry)
        #expect(try await part.use(use(32, 8), of: id, at: 2, in: registry) == .notHigher(stored: 40))
        #expect(try await part.use(use(33, 8), of: id, at: 3, in: registry) == .advanced)
        try put(32, in: registry)
        for counter in UInt32(9)...40 {
            #expect(try await part.use(use(counter), of: id, at: 4, in: registry) == .notHigher(stored: 40))
        }
        withExtendedLifetime(owner) {}
    }

    @Test(arguments: StorePart.all)
    func `a gateway that starts again with its window leaves everything open`(
        kind: RegistryKind, part: StorePart
    ) async throws {
        let (registry, owner) = try await kind.make()
        let id = DeviceKey.sample().id
        try put(32, in: registry)
        _ = try await registry.enrol(.sample())
        #expect(try await part.use(use(30), of: id, at: 1, in: registry) == .advanced)
        for counter in UInt32(20)...29 {
            try put(32, in: registry)
            #expect(try await part.use(use(counter), of: id, at: 2, in: registry) == .advanced)
            #expect(try await part.use(use(counter), of: id, at: 3, in: registry) == .notHigher(stored: 30))
        }
        withExtendedLifetime(owner) {}
    }

    /// A wider window than the gateway's own is recorded, of another one that may be gone.
    @Test(arguments: StorePart.all)
    func `a gateway that widens its window opens nothing that lies before, whatever is recorded`(
        kind: RegistryKind, part: StorePart
    ) async throws {
        let (registry, owner) = try await kind.make()
        let id = DeviceKey.sample().id
        for size in [0, 32] { try put(size, in: registry) }
        _ = try await registry.enrol(.sample())
        for counter in [UInt32(20), 18] {
            #expect(try await part.use(use(counter), of: id, at: 1, in: registry) == .advanced)
        }
        try put(32, after: 0, in: registry)
        for counter in UInt32(1)...20 {
            #expect(try await part.use(use(counter), of: id, at: 2, in: registry) == .notHigher(stored: 20))
        }
        for counter in [UInt32(24), 23] {
            #expect(try await part.use(use(counter), of: id, at: 3, in: registry) == .advanced)
        }
        try put(8, after: 32, in: registry)
        #expect(try await part.use(use(22, 8), of: id, at: 4, in: registry) == .advanced)
        try put(16, after: 8, in: registry)
        #expect(try await part.use(use(21, 16), of: id, at: 5, in: registry) == .notHigher(stored: 24))
        withExtendedLifetime(owner) {}
    }

    @Test(arguments: [RegistryKind.memory, .postgresql])
    func `when a wider window has gone with its gateway, the next one opens nothing that lies before`(
        kind: RegistryKind
    ) async throws {
        let (registry, owner) = try await kind.make()
        let id = DeviceKey.sample().id
        for size in [8, 32] { try put(size, in: registry) }
        _ = try await registry.enrol(.sample())
        #expect(try await registry.use(use(20), of: id, at: 1) == .advanced)
        try narrow(to: 8, in: registry)
        #expect(try await registry.use(use(19, 8), of: id, at: 2) == .advanced)
        try put(8, in: registry)
        #expect(try await registry.use(use(18, 8), of: id, at: 3) == .advanced)
        try put(32, in: registry)
        for counter in UInt32(1)...20 {
            #expect(try await registry.use(use(counter), of: id, at: 4) == .notHigher(stored: 20))
        }
        withExtendedLifetime(owner) {}
    }

    @Test(arguments: [RegistryKind.memory, .postgresql])
    func `the same window of a gateway that is left changes nothing, and a wider one isn't recorded`(
        kind: RegistryKind
    ) async throws {
        let (registry, owner) = try await kind.make()
        let id = DeviceKey.sample().id
        try put(32, in: registry)
        _ = try await registry.enrol(.sample())
        #expect(try await registry.use(use(20), of: id, at: 1) == .advanced)
        for size in [32, 64] { try narrow(to: size, in: registry) }
        try put(32, in: registry)
        #expect(try await registry.use(use(19), of: id, at: 2) == .advanced)
        try put(64, in: registry)
        #expect(try await registry.use(use(18), of: id, at: 3) == .notHigher(stored: 20))
        withExtendedLifetime(owner) {}
    }

    /// Of a gateway that starts, and of one that is reloaded.
    private static let changes: [(size: Int, former: Int?)] = [
        (32, nil), (32, nil), (8, 32), (64, nil), (64, nil), (64, 32), (0, 64), (0, 8), (32, 0), (32, 32), (1, 32),
    ]

    @Test(arguments: StorePart.all)
    func `each store begins epochs as the rule says`(kind: RegistryKind, part: StorePart) async throws {
        let (registry, owner) = try await kind.make()
        let id = DeviceKey.sample().id
        _ = try await registry.enrol(.sample(counter: 100))
        var (rule, inForce, lower) = (KeyCounters(highest: 100), WindowInForce(), 0)
        var state: UInt64 = 11
        for step in 0..<400 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            if step % 9 == 0 {
                let (size, former) = Self.changes[step / 9 % Self.changes.count]
                let epoch = inForce.epoch
                inForce.put(
                    try #require(CounterWindow(size: size)), after: former.flatMap { CounterWindow(size: $0) })
                try put(size, after: former, in: registry)
                if inForce.epoch != epoch { rule = KeyCounters(highest: rule.highest) }
            }
            let distance = Int64(state >> 33) % 24 - 18
            let highest = rule.highest
            // One of three gateways has another window than the last one that started.
            let use = try use(UInt32(max(0, Int64(highest) + distance)), step % 3 == 0 ? 32 : inForce.size)
            let expected = rule.take(use)
            if expected == .advanced, use.counter < highest { lower += 1 }
            #expect(try await part.use(use, of: id, at: Int64(step), in: registry) == expected)
        }
        #expect(lower > 20)
        withExtendedLifetime(owner) {}
    }

    /// Two gateways whose window is changed one after the other, to none and back.
    @Test(arguments: [RegistryKind.sqlite, .postgresql])
    func `a change that comes to one gateway after the other is safe`(kind: RegistryKind) async throws {
        let (gateways, owner) = try await kind.makeTwo()
        let (first, second, id) = (gateways[0], gateways[1], DeviceKey.sample().id)
        for gateway in gateways { try put(32, in: gateway) }
        _ = try await first.enrol(.sample())
        #expect(try await first.use(use(20), of: id, at: 1) == .advanced)
        try put(0, in: first)
        #expect(try await second.use(use(18), of: id, at: 2) == .advanced)
        #expect(try await first.use(use(19, 0), of: id, at: 3) == .notHigher(stored: 20))
        try put(0, in: second)
        try put(32, in: second)
        #expect(try await second.use(use(19), of: id, at: 4) == .notHigher(stored: 20))
        #expect(try await first.use(use(25, 0), of: id, at: 5) == .advanced)
        try put(32, in: first)
        #expect(try await second.use(use(24), of: id, at: 6) == .notHigher(stored: 25))
        #expect(try await first.use(use(28), of: id, at: 7) == .advanced)
        for gateway in gateways { try put(32, in: gateway) }
        #expect(try await second.use(use(27), of: id, at: 8) == .advanced)
        #expect(try await first.use(use(27), of: id, at: 9) == .notHigher(stored: 28))
        #expect(try await first.use(use(26), of: id, at: 10) == .advanced)
        withExtendedLifetime(owner) {}
    }

    @Test(arguments: RegistryKind.allCases)
    func `each counter passes once, however the window changes meanwhile`(kind: RegistryKind) async throws {
        let (registry, owner) = try await kind.make()
        let id = DeviceKey.sample().id
        _ = try await registry.enrol(.sample())
        let passed = try await withThrowingTaskGroup(of: UInt32?.self) { group in
            for racer in 0..<90 {
                let use = try use(UInt32(racer % 30 + 1))
                group.addTask {
                    if racer % 6 == 0 { try put(racer % 12 * 4, in: registry) }
                    return try await patiently(use, of: id, in: registry) == .advanced ? use.counter : nil
                }
            }
            return try await group.reduce(into: [UInt32]()) { passed, counter in
                if let counter { passed.append(counter) }
            }
        }
        #expect(Set(passed).count == passed.count && passed.contains(30), "\(passed)")
        withExtendedLifetime(owner) {}
    }
}

extension RegistryKind {
    /// An empty store as two gateways use it, and the objects that must live as long as it does.
    fileprivate func makeTwo() async throws -> (gateways: [any KeyRegistry], owner: AnyObject?) {
        let (registry, owner) = try await make()
        switch owner {
        case let directory as TemporaryDirectory:
            return ([registry, try SQLiteKeyRegistry(path: directory.file("keys.sqlite"), limits: .patient)], owner)
        case let database as FleetDatabase: return ([registry, try database.anotherRegistry()], owner)
        default: return ([registry, registry], owner)
        }
    }
}
