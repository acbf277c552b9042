import DeviceSimulation
import KeyStore
import KeyStoreTestKit
import Testing

@testable import Admission

/// What a gateway knows of keys without asking the shared store.
struct KeyStandingsTests {
    private let bench: FleetBench
    private var standings: KeyStandings { bench.gateways[0].fleet.standings }

    init() throws { bench = try FleetBench(offsets: [0, 0]) }

    private func admitted(_ device: inout SimulatedDevice, by number: Int = 0) throws -> (Principal, KeyID) {
        let decision = try bench.decide(try bench.request(by: &device), by: number)
        return (try #require(decision.admitted).principal, try #require(KeyID(bytes: device.keyID)))
    }

    private func recheck(_ principal: Principal, by number: Int = 0, at moment: Moment = start) -> RefusalAnswer? {
        bench.gateways[number].gate.recheck(principal, from: address("192.0.2.1"), at: moment)?.answer
    }

    @Test func `a change that the feed tells of is known before the next request`() throws {
        var device = try bench.registeredDevice()
        let (principal, id) = try admitted(&device)
        #expect(bench.store.revoke(id, reason: "lost", at: 1))
        #expect(recheck(principal) == nil)
        standings.heard([id], at: start.monotonic)
        #expect(recheck(principal) == .keyRevoked)
        let asked = bench.store.asked.count
        #expect(try bench.decide(try bench.request(by: &device), by: 0).refusal?.answer == .keyRevoked)
        #expect(bench.store.asked.count == asked)
        #expect(bench.store.restore(id))
        standings.heard([id], at: start.monotonic)
        #expect(recheck(principal) == nil)
        #expect(bench.store.forget(id) == .forgotten)
        standings.heard([id], at: start.monotonic)
        #expect(recheck(principal) == .invalidTicket)
        let later = start + 2_001
        standings.heard([KeyID](), at: later.monotonic)
        #expect(recheck(principal, at: later) == .storeUnavailable)
        #expect(recheck(principal, at: later) == .invalidTicket)
    }

    @Test func `a key that another gateway has just registered isn't unknown`() throws {
        var device = SimulatedDevice(app: Bench.app)
        let id = try #require(KeyID(bytes: device.keyID))
        #expect(try bench.decide(try bench.request(by: &device), by: 0).refusal?.answer == .unknownKey)
        let other = try bench.registeredDevice()
        let otherID = try #require(KeyID(bytes: other.keyID))
        let key = try #require(bench.store.key(otherID))
        let enrolled = DeviceKey(
            id: id, publicKeyX963: device.publicKeyX963, app: key.app, environment: key.environment,
            trustRoot: key.trustRoot, counter: 0, receipt: [], validationCategory: nil, bundleVersion: nil,
            registeredAt: 0)
        #expect(bench.store.enrol(enrolled) == .enrolled)
        #expect(try bench.decide(try bench.request(by: &device), by: 0).admitted != nil)
    }

    @Test func `many unknown keys take little room, and none from known ones`() throws {
        var device = try bench.registeredDevice()
        let (principal, _) = try admitted(&device)
        for number in 0..<(KeyStandings.maximumUnknown + 10) {
            let bytes = [UInt8](repeating: 7, count: 30) + [UInt8(number / 256), UInt8(number % 256)]
            let id = try #require(KeyID(bytes: bytes))
            standings.load(id, at: start.monotonic) { _ in }
        }
        #expect(standings.count == 1 && standings.unknownCount == 10)
        #expect(recheck(principal) == nil)
    }

    @Test func `a change of a key that isn't known here costs nothing`() throws {
        let id = try #require(KeyID(bytes: [UInt8](repeating: 1, count: 32)))
        standings.heard([id], at: start.monotonic)
        #expect(bench.store.asked.isEmpty && standings.count == 0)
    }

    private static let changes: [@Sendable (KeyStandings, KeyID) -> Void] = [
        { $0.heard([$1], at: start.monotonic) }, { standings, _ in standings.forgetAll() },
    ]

    @Test func `a key that changes while it is read is read again`() throws {
        for change in Self.changes {
            let device = try bench.registeredDevice()
            let id = try #require(KeyID(bytes: device.keyID))
            bench.store.hold([.look])
            let loaded = Gathered<Bool>()
            standings.load(id, at: start.monotonic) { result in
                loaded.add((try? result.get())?.map(\.isRevoked) ?? false)
            }
            change(standings, id)
            #expect(bench.store.revoke(id, reason: "lost", at: 1))
            bench.store.answer()
            #expect(loaded.all.isEmpty && standings.current(of: id, at: start.monotonic) == nil)
            bench.store.answer()
            #expect(loaded.all == [true])
            #expect(standings.current(of: id, at: start.monotonic)?.isRevoked == true)
            bench.store.hold([])
        }
    }

    @Test func `a key that always changes is read a limited number of times, and not kept`() throws {
        for change in Self.changes {
            let device = try bench.registeredDevice()
            let id = try #require(KeyID(bytes: device.keyID))
            let asked = bench.store.asked.count
            bench.store.hold([.look])
            let loaded = Gathered<Bool>()
            standings.load(id, at: start.monotonic) { result in loaded.add((try? result.get()) != nil) }
            for number in 1...KeyStandings.maximumReadings {
                #expect(loaded.all.isEmpty && bench.store.asked.count == asked + number)
                change(standings, id)
                bench.store.answer()
            }
            #expect(loaded.all == [true] && standings.current(of: id, at: start.monotonic) == nil)
            #expect(bench.store.asked.count == asked + KeyStandings.maximumReadings)
            bench.store.hold([])
        }
    }

    @Test func `a client is rechecked though its key is forgotten while the store is asked`() throws {
        var device = try bench.registeredDevice()
        let (principal, _) = try admitted(&device, by: 0)
        let gate = bench.gateways[1].gate
        bench.store.hold([.look])
        let refusals = Gathered<RefusalAnswer?>()
        gate.prepareRecheck(of: principal, at: start) {
            refusals.add(gate.recheck(principal, from: address("192.0.2.1"), at: start)?.answer)
        }
        bench.gateways[1].fleet.standings.forgetAll()
        bench.store.answer()
        bench.store.answer()
        #expect(refusals.all == [nil])
    }

    @Test func `a feed that is late makes rechecks unavailable, and assertions ask the store`() throws {
        var device = try bench.registeredDevice()
        let (principal, id) = try admitted(&device)
        bench.store.fail([.look], with: .busy)
        #expect(recheck(principal, at: start + 2_000) == nil)
        #expect(recheck(principal, at: start + 2_001) == .storeUnavailable)
        let late = try bench.request(by: &device, at: start + 2_001)
        #expect(try bench.decide(late, by: 0).refusal?.answer == .storeUnavailable)
        standings.heard([KeyID](), at: (start + 2_000).monotonic)
        #expect(recheck(principal, at: start + 4_000) == nil)
        bench.store.fail([.look], with: nil)
        #expect(bench.store.revoke(id, reason: "lost", at: 1))
        let later = try bench.request(by: &device, at: start + 9_000)
        #expect(try bench.decide(later, by: 0).refusal?.answer == .keyRevoked)
    }

    @Test func `a recheck of a key that isn't known asks for it, once at a time`() throws {
        var device = try bench.registeredDevice()
        let (principal, _) = try admitted(&device, by: 0)
        bench.store.hold([.look])
        for _ in 0..<3 { #expect(recheck(principal, by: 1) == .storeUnavailable) }
        bench.store.answer()
        #expect(recheck(principal, by: 1) == nil)
        #expect(bench.store.asked.count { $0 == .look } == 2)
    }

    @Test func `another incarnation forgets all, and so does nothing else`() throws {
        var device = try bench.registeredDevice()
        let (_, id) = try admitted(&device)
        let fleet = bench.gateways[0].fleet
        fleet.learn(SharedStore.present(1), askedAt: start.monotonic)
        #expect(standings.current(of: id, at: start.monotonic) != nil)
        fleet.learn(SharedStore.present(2), askedAt: start.monotonic)
        #expect(standings.count == 0)
    }

    @Test func `no more keys are kept than the maximum, and those in use stay`() throws {
        let standings = KeyStandings(maximum: 8) { bench.store.standing(of: $0, then: $1) }
        let first = try #require(KeyID(bytes: try bench.registeredDevice().keyID))
        standings.load(first, at: start.monotonic) { _ in }
        for _ in 0..<40 {
            let id = try #require(KeyID(bytes: try bench.registeredDevice().keyID))
            standings.load(id, at: start.monotonic) { _ in }
            #expect(standings.current(of: first, at: start.monotonic) != nil)
            #expect(standings.count <= 8)
        }
        #expect(standings.count >= 4)
    }
}
