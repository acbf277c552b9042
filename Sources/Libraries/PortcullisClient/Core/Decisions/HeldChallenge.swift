/// A challenge, and until when it may be used.
///
/// Its end is a time of the server's clock, and the device's clock may be years away from that. So only the difference
/// to the server's own `Date` counts, and from then on the client's clock, which the user can't set.
struct HeldChallenge: Sendable {
    /// A challenge isn't used in its last seconds: it has to arrive in time.
    static let margin = 30.0
    /// For a challenge whose end isn't known: the default of the gateway.
    static let assumedLife = 60.0
    /// A longer life isn't believed.
    static let longestLife = 600.0

    /// As it was received.
    let text: String
    let bytes: [UInt8]
    private let lastUse: Double

    /// - Parameters:
    ///   - expiry: of the server's clock, in seconds since 1970.
    ///   - serverTime: in the same answer.
    ///   - localTime: the device's time, in seconds since 1970, for an answer without a time.
    ///   - received: in seconds of the client's clock.
    init(
        _ text: String, bytes: [UInt8], expiry: Double? = nil, serverTime: Double? = nil, localTime: Double? = nil,
        received: Double
    ) {
        (self.text, self.bytes) = (text, bytes)
        lastUse = received + Self.usableLife(expiry: expiry, now: serverTime ?? localTime)
    }

    /// A life shorter than the margin still leaves half of it: otherwise no such challenge could be used at all.
    private static func usableLife(expiry: Double?, now: Double?) -> Double {
        var life = assumedLife
        if let expiry, let now, (1...longestLife).contains(expiry - now) { life = expiry - now }
        return life - min(margin, life / 2)
    }

    func isUsable(at now: Double) -> Bool { now < lastUse }
}
