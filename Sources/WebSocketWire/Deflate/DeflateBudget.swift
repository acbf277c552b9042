/// What engines cost, from the library that makes them.
package struct DeflateCosts: Sendable {
    package let inflater: @Sendable (_ windowBits: Int) -> Int
    package let deflater: @Sendable (_ windowBits: Int, _ memoryLevel: Int) -> Int

    package init<Inflater: InflateEngine, Deflater: DeflateEngine>(_: Inflater.Type, _: Deflater.Type) {
        inflater = { Inflater.bytes(windowBits: $0) }
        deflater = { Deflater.bytes(windowBits: $0, memoryLevel: $1) }
    }

    /// What a connection with this agreement needs for as long as it lives.
    ///
    /// - Its inflater always: a client decides when a message begins, and no message may fail for want of memory. Where the client keeps no
    ///   context the inflater is let go between messages (`MessageInflater.releaseIdle`); its share isn't, so it can always come back.
    /// - Its deflater only if the server keeps its context. Otherwise a message is deflated in one go, by an engine that all connections of
    ///   a reactor share.
    package func bytes(of agreement: DeflateAgreement) -> Int {
        inflater(agreement.clientWindowBits) + deflaterBytes(of: agreement)
    }

    /// The deflater's part of it.
    package func deflaterBytes(of agreement: DeflateAgreement) -> Int {
        agreement.serverKeepsContext ? deflater(agreement.serverWindowBits, agreement.memoryLevel) : 0
    }
}

/// The memory that compression may take, of one session and of all together. Whoever shares one guards it by a lock.
///
/// Memory never refuses a session: agreements get smaller windows, then no context for the server, and then no compression. When most of it
/// is used connections that are idle give up their deflaters.
package struct DeflateBudget: Sendable {
    package struct Limits: Hashable, Sendable {
        package var sessionBytes: Int
        package var totalBytes: Int

        package init(sessionBytes: Int = 98_304, totalBytes: Int = 67_108_864) {
            self.sessionBytes = sessionBytes
            self.totalBytes = totalBytes
        }
    }

    /// A new limit is for agreements to come.
    package var limits: Limits
    private let costs: DeflateCosts
    package private(set) var reservedBytes = 0

    package init(limits: Limits = Limits(), costs: DeflateCosts) {
        self.limits = limits
        self.costs = costs
    }

    /// Takes the first of the client's offers that can be accepted (RFC 7692 §5.1), as large as there is memory for, and reserves that. Nil where
    /// there is no such offer, or no memory: the answer then has no extension.
    package mutating func agree(
        to offers: [WebSocketExtension], settings: DeflateSettings
    ) -> DeflateAgreement? {
        for offer in offers.lazy.compactMap({ DeflateOffer($0) }) {
            for candidate in Self.candidates(settings) {
                guard let agreement = DeflateAgreement(to: offer, settings: candidate) else { continue }
                let bytes = costs.bytes(of: agreement)
                guard bytes <= limits.sessionBytes, bytes <= limits.totalBytes - reservedBytes else { continue }
                reservedBytes += bytes
                return agreement
            }
        }
        return nil
    }

    /// Gives back what `agree` has reserved: once, when the engines are gone.
    ///
    /// - Parameter isDeflaterSuspended: `suspendDeflater` has given a part back already.
    package mutating func release(_ agreement: DeflateAgreement, isDeflaterSuspended: Bool = false) {
        reservedBytes -= costs.bytes(of: agreement)
        if isDeflaterSuspended { reservedBytes += costs.deflaterBytes(of: agreement) }
        precondition(reservedBytes >= 0, "an agreement was released twice")
    }

    /// Three quarters are reserved: it is time for idle connections to give up their deflaters.
    package var isTight: Bool { reservedBytes > limits.totalBytes / 4 * 3 }

    /// Gives back the deflater's part, where memory is tight. The server may forget its window at any time: its messages then don't refer to
    /// it, which the client needn't know (RFC 7692 §7.1.1.1).
    ///
    /// - Returns: false where memory isn't tight, or there is no such part.
    package mutating func suspendDeflater(of agreement: DeflateAgreement) -> Bool {
        guard isTight, agreement.serverKeepsContext else { return false }
        reservedBytes -= costs.deflaterBytes(of: agreement)
        return true
    }

    /// Reserves that part again.
    ///
    /// - Returns: false where there is no memory for it.
    package mutating func resumeDeflater(of agreement: DeflateAgreement) -> Bool {
        let bytes = costs.deflaterBytes(of: agreement)
        guard reservedBytes + bytes <= limits.totalBytes / 4 * 3 else { return false }
        reservedBytes += bytes
        return true
    }

    /// From what is wanted to what costs least: smaller windows first, then the same without the server's context.
    private static func candidates(_ settings: DeflateSettings) -> [DeflateSettings] {
        let largest = max(settings.serverWindowBits, settings.clientWindowBits)
        let windows = stride(from: largest, through: DeflateSettings.windowBits.lowerBound, by: -1).map { bits in
            var smaller = settings
            smaller.serverWindowBits = min(settings.serverWindowBits, bits)
            smaller.clientWindowBits = min(settings.clientWindowBits, bits)
            return smaller
        }
        guard settings.serverKeepsContext else { return windows }
        let withoutContext = windows.map { smaller in
            var candidate = smaller
            // The deflater costs the session nothing then.
            candidate.serverWindowBits = settings.serverWindowBits
            candidate.serverKeepsContext = false
            return candidate
        }
        return windows + withoutContext
    }
}
