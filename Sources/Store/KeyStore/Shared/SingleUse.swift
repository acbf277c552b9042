/// One uninterrupted history of a shared store. It changes whenever the store may have lost something that it had
/// confirmed without waiting for the disk: by a crash, or by a failover.
///
/// What a gateway issues is bound to it: a challenge of another incarnation is foreign, so a counter that has fallen
/// back with a crash admits no old assertion.
package struct StoreIncarnation: Hashable, Sendable {
    package static let length = 32

    /// Not secret.
    package let bytes: [UInt8]

    /// - Returns: nil for any other number of bytes than ``length``.
    package init?(bytes: [UInt8]) {
        guard bytes.count == Self.length else { return nil }
        self.bytes = bytes
    }
}

/// A shared store as all gateways of a fleet see it at one moment.
package struct StorePresent: Hashable, Sendable {
    package let incarnation: StoreIncarnation
    /// When the incarnation began, and the present, in Unix milliseconds of the store's clock. Nothing of an earlier
    /// incarnation was confirmed after the beginning.
    package let began, time: Int64

    package init(incarnation: StoreIncarnation, began: Int64, time: Int64) {
        (self.incarnation, self.began, self.time) = (incarnation, began, time)
    }
}

/// Something that may be used once in the whole fleet: a challenge, or a proof.
package struct SingleUseMark: Hashable, Sendable {
    package static let lengths = 1...64

    /// Marks of different kinds are different, whatever their bytes.
    package enum Kind: Int64, Hashable, Sendable, CaseIterable {
        case challenge = 1
        case registrationChallenge = 2
        case tokenChallenge = 3
        case registrationProof = 4
        case tokenProof = 5
        case resourceProof = 6
        case signedChallenge = 7
        case passkeyRegistration = 8
        case passkeyAuthentication = 9
        case accountDevice = 10
        case deviceAuthentication = 11
    }

    package let kind: Kind
    package let bytes: [UInt8]
    /// The last time at which its issuer would accept it, in Unix milliseconds. The same for every use.
    package let expires: Int64

    /// - Returns: nil if the number of bytes isn't in ``lengths``.
    package init?(_ kind: Kind, bytes: [UInt8], expires: Int64) {
        guard Self.lengths.contains(bytes.count) else { return nil }
        (self.kind, self.bytes, self.expires) = (kind, bytes, expires)
    }
}

/// The outcome of an attempt to use a mark.
package enum MarkSpending: Hashable, Sendable {
    case spent
    case alreadySpent
    /// The store has another incarnation: whatever carries the mark was issued before, and is foreign. Nothing was
    /// changed.
    case foreign
    /// So old that the store may have forgotten its use.
    case expired
    /// The store has no room for marks. Nothing was changed.
    case full
}

/// One use of an assertion: its challenge and its counter.
package struct AssertionUse: Hashable, Sendable {
    package let mark: SingleUseMark
    package let key: KeyID
    package let use: CounterUse
    /// Unix milliseconds.
    package let time: Int64

    package init(mark: SingleUseMark, key: KeyID, use: CounterUse, time: Int64) {
        (self.mark, self.key, self.use, self.time) = (mark, key, use, time)
    }

    package var counter: UInt32 { use.counter }

    /// Of a counter that has to be higher.
    package init(mark: SingleUseMark, key: KeyID, counter: UInt32, time: Int64) {
        self.init(mark: mark, key: key, use: CounterUse(counter), time: time)
    }
}

/// The outcome of the use of an assertion.
package enum AssertionSpending: Hashable, Sendable {
    /// Mark and counter were new, and are used now. Exactly one of several callers gets this.
    case admitted
    /// The mark couldn't be used, and the counter wasn't touched. Never `.spent`.
    case refused(MarkSpending)
    /// The mark is used now; the counter is as it was. Never `.advanced`.
    case notAdvanced(CounterAdvance)
}

/// A ticket as a shared store keeps it: its hash, and its content, which only the gateways can read.
package struct SealedTicket: Hashable, Sendable {
    package static let maximumBytes = 8_192

    /// The SHA-256 of the ticket, which has 256 random bits.
    package let hash: [UInt8]
    package let sealed: [UInt8]
    /// Unix milliseconds.
    package let expires: Int64

    /// - Returns: nil if the hash hasn't 32 bytes, or there are too many sealed ones.
    package init?(hash: [UInt8], sealed: [UInt8], expires: Int64) {
        guard hash.count == 32, sealed.count <= Self.maximumBytes else { return nil }
        (self.hash, self.sealed, self.expires) = (hash, sealed, expires)
    }
}

/// One use of a ticket that was taken.
package struct TakenTicket: Hashable, Sendable {
    package let ticket: SealedTicket
    /// Uses that the store still has of it.
    package let remaining: Int

    package init(_ ticket: SealedTicket, remaining: Int) { (self.ticket, self.remaining) = (ticket, remaining) }
}
