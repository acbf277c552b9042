import KeyStore
import Testing

@testable import OperatorTools

/// The limits of what a record can be; the forgeries of each kind are in `StoreForgery`.
@Suite("A device key of a store")
struct RegistrationRulesTests {
    private static let now: Int64 = 1_800_000_000_000
    private let rules = RegistrationRules(now: now)

    private func isGood(_ change: (inout DeviceKey) -> Void) throws -> Bool {
        var key = try FleetCommandBench.key(1)
        change(&key)
        return rules.faults(of: .key(key)).isEmpty
    }

    @Test func `is good as a gateway stores it`() throws {
        #expect(try isGood { _ in })
        #expect(try isGood { ($0.counter, $0.lastUsedAt) = (0, nil) })
        #expect(try isGood { ($0.revokedAt, $0.revocationReason) = (2_000, "lost") })
    }

    @Test func `has a counter that a device can have`() throws {
        #expect(try isGood { $0.counter = DeviceKey.largestCounter })
        #expect(try !isGood { $0.counter = DeviceKey.largestCounter + 1 })
        #expect(try !isGood { $0.counter = .max })
    }

    @Test func `has times that a clock can have shown, a day wrong at most`() throws {
        let latest = Self.now + RegistrationRules.clockTolerance
        #expect(try isGood { $0.lastUsedAt = latest })
        #expect(try !isGood { $0.lastUsedAt = latest + 1 })
        #expect(try isGood { $0.registeredAt = 1_000 + RegistrationRules.clockTolerance })
        #expect(try !isGood { $0.registeredAt = 1_001 + RegistrationRules.clockTolerance })
        #expect(try isGood { $0.registeredAt = 0 })
        #expect(try !isGood { $0.registeredAt = -1 })
        #expect(try !isGood { $0.registeredAt = .min })
    }

    @Test func `has texts and bytes of bounded length`() throws {
        let reason = String(repeating: "x", count: RecordLimits.reasonBytes)
        #expect(try isGood { ($0.revokedAt, $0.revocationReason) = (2_000, reason) })
        #expect(try !isGood { ($0.revokedAt, $0.revocationReason) = (2_000, reason + "x") })
        let receipt = [UInt8](repeating: 1, count: RecordLimits.attestationBytes)
        #expect(try isGood { $0.receipt = receipt })
        #expect(try !isGood { $0.receipt = receipt + [1] })
        let app = "ABCDE12345." + String(repeating: "a", count: 255)
        #expect(app.utf8.count == RecordLimits.appBytes)
        #expect(try isGood { $0.app = app })
        #expect(try !isGood { $0.app = app + "a" })
    }
}
