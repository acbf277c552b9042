/// The newest `DPoP-Nonce` of each origin (RFC 9449 section 8.2: nonces of one server aren't used at another).
struct ServerNonces: Sendable {
    static let maximumOrigins = 8
    static let maximumBytes = 512

    /// The newest last.
    private var nonces: [(origin: String, nonce: String)] = []

    subscript(origin: String) -> String? { nonces.last { $0.origin.isSame(as: origin) }?.nonce }

    /// Whether a server's nonce can be put into a proof.
    static func isValid(_ nonce: String) -> Bool {
        (1...maximumBytes).contains(nonce.utf8.count) && nonce.utf8.allSatisfy(\.isVisibleASCII)
    }

    mutating func keep(_ nonce: String, of origin: String) {
        guard Self.isValid(nonce) else { return }
        nonces.removeAll { $0.origin.isSame(as: origin) }
        nonces.append((origin, nonce))
        if nonces.count > Self.maximumOrigins { nonces.removeFirst() }
    }
}

/// How far the server's clock is ahead of the device's, as its answers show.
struct ClockDifference: Sendable {
    /// The largest difference that proofs may have.
    static let tolerance = 30.0

    private(set) var seconds: Double?

    /// - Parameters:
    ///   - serverTime: `Date` of an answer, which has whole seconds.
    ///   - sent: the device's time when the request was sent, in seconds since 1970.
    ///   - received: … and when the answer came.
    /// - Returns: whether the difference has become too large with this answer.
    @discardableResult
    mutating func note(serverTime: Int, sent: Double, received: Double) -> Bool {
        // The device's clock was set meanwhile.
        guard received >= sent else { return false }
        let wasTooLarge = isTooLarge
        seconds = Double(serverTime) + 0.5 - (sent + received) / 2
        return isTooLarge && !wasTooLarge
    }

    var isTooLarge: Bool { seconds.map { abs($0) > Self.tolerance } ?? false }
}
