/// The memory cost of engines, as their library reports it.
package struct DeflateCosts: Sendable {
    package let inflater: @Sendable (_ windowBits: Int) -> Int
    package let deflater: @Sendable (_ windowBits: Int, _ memoryLevel: Int) -> Int

    package init<Inflater: InflateEngine, Deflater: DeflateEngine>(_: Inflater.Type, _: Deflater.Type) {
        inflater = { Inflater.bytes(windowBits: $0) }
        deflater = { Deflater.bytes(windowBits: $0, memoryLevel: $1) }
    }

    /// The memory that a connection with this agreement reserves for its life.
    ///
    /// - The inflater always: a client decides when a message begins, and no message may fail for lack of memory. If
    ///   the client keeps no context, the inflater is freed between messages (`MessageInflater.releaseIdle`), but its
    ///   reservation stays, so it can always be recreated.
    /// - The deflater only if the server keeps its context. Otherwise a message is deflated in one go, by an engine
    ///   that all connections of a reactor share.
    package func bytes(of agreement: DeflateAgreement) -> Int {
        inflater(agreement.clientWindowBits) + deflaterBytes(of: agreement)
    }

    /// The deflater's share of it.
    package func deflaterBytes(of agreement: DeflateAgreement) -> Int {
        agreement.serverKeepsContext ? deflater(agreement.serverWindowBits, agreement.memoryLevel) : 0
    }
}

/// The memory budget for compression, per session and in total. Shared instances must be protected by a lock.
///
/// Memory never causes a session to be refused: agreements get smaller windows, then no server context, then no
/// compression. When most of the budget is in use, idle connections give up their deflaters.
package struct DeflateBudget: Sendable {
    package struct Limits: Hashable, Sendable {
        package var sessionBytes: Int
        package var totalBytes: Int

        package init(sessionBytes: Int = 98_304, totalBytes: Int = 67_108_864) {
            self.sessionBytes = sessionBytes
            self.totalBytes = totalBytes
        }
    }

    /// New limits apply to later agreements only.
    package var limits: Limits
    private let costs: DeflateCosts
    package private(set) var reservedBytes = 0

    package init(limits: Limits = Limits(), costs: DeflateCosts) {
        self.limits = limits
        self.costs = costs
    }

    /// Accepts the first acceptable offer of the client (RFC 7692 §5.1), with the largest windows that memory allows,
    /// and reserves that memory. Nil if no offer is acceptable or there is no memory: the response then has no
    /// extension.
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

    /// Releases what `agree` reserved. Call it once, when the engines are freed.
    ///
    /// - Parameter isDeflaterSuspended: `suspendDeflater` has already released a part.
    package mutating func release(_ agreement: DeflateAgreement, isDeflaterSuspended: Bool = false) {
        reservedBytes -= costs.bytes(of: agreement)
        if isDeflaterSuspended { reservedBytes += costs.deflaterBytes(of: agreement) }
        precondition(reservedBytes >= 0, "an agreement was released twice")
    }

    /// More than three quarters are reserved: idle connections should give up their deflaters.
    package var isTight: Bool { reservedBytes > limits.totalBytes / 4 * 3 }

    /// Releases the deflater's share, if memory is tight. The server may discard its window at any time: its messages
    /// then don't refer to it, and the client need not know (RFC 7692 §7.1.1.1).
    ///
    /// - Returns: false if memory isn't tight, or there is no such share.
    package mutating func suspendDeflater(of agreement: DeflateAgreement) -> Bool {
        guard isTight, agreement.serverKeepsContext else { return false }
        reservedBytes -= costs.deflaterBytes(of: agreement)
        return true
    }

    /// Reserves that share again.
    ///
    /// - Returns: false if there is no memory for it.
    package mutating func resumeDeflater(of agreement: DeflateAgreement) -> Bool {
        let bytes = costs.deflaterBytes(of: agreement)
        guard reservedBytes + bytes <= limits.totalBytes / 4 * 3 else { return false }
        reservedBytes += bytes
        return true
    }

    /// The settings to try, from the preferred to the cheapest: smaller windows first, then the same without the
    /// server's context.
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
            // The deflater then costs the session nothing.
            candidate.serverWindowBits = settings.serverWindowBits
            candidate.serverKeepsContext = false
            return candidate
        }
        return windows + withoutContext
    }
}
