import Crypto
import FoundationEssentials
import KeyStore
import WireText

/// The secrets that all gateways of a fleet share, by generation. A new generation is distributed before it issues, and
/// an old one is accepted until all that it has issued has expired; so gateways that learn of it at different times
/// accept each other's challenges and tickets.
package struct FleetSecrets: Sendable {
    package static let maximumGenerations = 4
    /// Milliseconds between the time at which a generation is stored and the first use. A gateway that hasn't heard of
    /// it for so long hasn't heard of revocations either, and admits nobody.
    package static let distributionTime: Int64 = 60_000

    package struct Generation: Sendable {
        package static let secretBytes = 32

        /// Higher than that of all generations before.
        package let number: UInt32
        let secret: Secret
        /// In the fleet's time.
        package let issuesFrom: Int64

        /// - Returns: nil for a secret of another length than ``secretBytes``.
        package init?(number: UInt32, secret: [UInt8], issuesFrom: Int64) {
            guard secret.count == Self.secretBytes else { return nil }
            (self.number, self.secret, self.issuesFrom) = (number, Secret(secret), issuesFrom)
        }
    }

    /// Milliseconds for which a generation issues. Tickets live for 30 days at most, so no more than
    /// ``maximumGenerations`` are needed.
    package static let period: Int64 = 15 * 86_400_000

    /// In the order of their numbers and of their first use; at least one.
    package let generations: [Generation]

    /// - Returns: nil if there are none or too many, or if they aren't in order.
    package init?(_ generations: [Generation]) {
        guard (1...Self.maximumGenerations).contains(generations.count),
            zip(generations, generations.dropFirst()).allSatisfy({
                $0.number < $1.number && $0.issuesFrom < $1.issuesFrom
            })
        else { return nil }
        self.generations = generations
    }

    /// Whether the newest generation is old enough for a next one.
    package func isRotationDue(at time: Int64) -> Bool {
        let due = generations[generations.count - 1].issuesFrom.addingReportingOverflow(Self.period)
        return !due.overflow && time >= due.partialValue
    }

    /// The generation that issues: the newest whose time has come, else the first.
    func issuing(at time: Int64) -> Int { generations.lastIndex { $0.issuesFrom <= time } ?? 0 }

    /// Whether something may still be valid that a generation has issued.
    ///
    /// - Parameter lifetime: of what it issues, in milliseconds.
    func isAccepted(_ index: Int, at time: Int64, lifetime: Int64) -> Bool {
        guard let next = generations.dropFirst(index + 1).first else { return true }
        let end = next.issuesFrom.addingReportingOverflow(lifetime + FleetClock.tolerance)
        return end.overflow || time < end.partialValue
    }

    /// With a new generation. Those that nothing depends on any more are left out, and then the oldest one if there are
    /// too many.
    ///
    /// - Parameter secret: random; ``Generation/secretBytes``.
    package func rotated(to secret: [UInt8], at time: Int64) -> FleetSecrets? {
        let last = generations[generations.count - 1]
        let start = max(time, last.issuesFrom) + Self.distributionTime
        guard last.number < .max, let next = Generation(number: last.number + 1, secret: secret, issuesFrom: start)
        else { return nil }
        let kept = generations.indices.filter {
            isAccepted($0, at: time, lifetime: Int64(TicketOffice.longestTimeToLive.wholeMilliseconds))
        }
        return FleetSecrets((kept.map { generations[$0] } + [next]).suffix(Self.maximumGenerations))
    }
}

// MARK: In the store

extension FleetSecrets.Generation {
    private static let timeBytes = 8

    /// Each generation is a secret of its own in the store, so the first gateway that makes it wins: name, then time of
    /// first use and secret.
    package static let namePrefix = "fleet-"
    package static func name(of number: UInt32) -> String { "\(namePrefix)\(number)" }
    package var name: String { Self.name(of: number) }

    /// Secret: the time of the first use, big-endian, and the secret.
    package var stored: [UInt8] {
        let time = UInt64(bitPattern: issuesFrom)
        return stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: time >> UInt64($0)) }
            + secret.carried
    }

    /// - Returns: nil for what ``stored`` hasn't made.
    package init?(name: String, stored: [UInt8]) {
        guard name.hasBytePrefix(Self.namePrefix), let number = UInt32(name.droppingBytes(Self.namePrefix.utf8.count)),
            Self.name(of: number).hasSameBytes(as: name), stored.count > Self.timeBytes
        else { return nil }
        let time = stored.prefix(Self.timeBytes).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        self.init(
            number: number, secret: Array(stored.dropFirst(Self.timeBytes)), issuesFrom: Int64(bitPattern: time))
    }
}

extension FleetSecrets.Generation {
    /// A key for one purpose in one incarnation of the store (HKDF, RFC 5869). What was issued in another incarnation
    /// is foreign.
    func key(for purpose: String, in incarnation: StoreIncarnation) -> SymmetricKey {
        HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: secret.carried), salt: incarnation.bytes,
            info: Array(("portcullis " + purpose).utf8), outputByteCount: Self.secretBytes)
    }
}
