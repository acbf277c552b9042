/// The record of a development token: everything except the token itself.
///
/// The token is a secret that replaces an attestation, for simulators and automated tests. The store has only its hash.
package struct DevelopmentToken: Sendable, Equatable {
    /// The largest `maximumDevices`.
    package static let largestDeviceLimit = 1_000
    /// The maximum size of a name, in bytes.
    package static let maximumNameBytes = 64
    /// The maximum number of routes of a token.
    package static let maximumRoutes = 32

    package let hash: DevelopmentTokenHash
    /// The operator's name for it, for logs.
    package let name: String
    /// The only routes that it admits to; nil: all. Never empty.
    package let routes: [String]?
    /// The maximum number of device keys over its whole life.
    package let maximumDevices: Int
    /// Unix milliseconds, like all times here.
    package let issuedAt: Int64
    /// The token is valid before this time.
    package let expiresAt: Int64
    /// Set while the token is revoked. A revocation can't be lifted.
    package var revokedAt: Int64?
    package var lastUsedAt: Int64?
    /// The number of device keys that have used it.
    package var devices: Int

    package init(
        hash: DevelopmentTokenHash, name: String, routes: [String]?, maximumDevices: Int, issuedAt: Int64,
        expiresAt: Int64, revokedAt: Int64? = nil, lastUsedAt: Int64? = nil, devices: Int = 0
    ) {
        self.hash = hash
        self.name = name
        self.routes = routes
        self.maximumDevices = maximumDevices
        self.issuedAt = issuedAt
        self.expiresAt = expiresAt
        self.revokedAt = revokedAt
        self.lastUsedAt = lastUsedAt
        self.devices = devices
    }

    package var id: DevelopmentTokenID { hash.id }

    package var grant: DevelopmentGrant { DevelopmentGrant(id: id.text, name: name, routes: routes.map { Set($0) }) }

    /// Whether sessions that it opened may continue.
    package func status(at time: Int64) -> GrantStatus {
        if revokedAt != nil { return .refused(.revoked) }
        return time < expiresAt ? .granted(grant) : .refused(.expired)
    }

    /// - Parameter isKnown: the device's key has used the token before.
    package func status(forKnownDevice isKnown: Bool, at time: Int64) -> GrantStatus {
        let standing = status(at: time)
        guard case .granted = standing, !isKnown, devices >= maximumDevices else { return standing }
        return .refused(.deviceLimit)
    }

    /// Whether it ended so long ago that the store removes it.
    package func isForgotten(at time: Int64) -> Bool {
        min(expiresAt, revokedAt ?? expiresAt) < time - DevelopmentTokenLimits.keptMilliseconds
    }
}

/// The SHA-256 of a development token, which has 256 random bits: it can't be guessed from the hash, so no salt is
/// needed.
package struct DevelopmentTokenHash: Hashable, Sendable {
    package static let length = 32
    package let bytes: [UInt8]

    /// - Returns: nil for any other number of bytes than ``length``.
    package init?(bytes: [UInt8]) {
        guard bytes.count == Self.length else { return nil }
        self.bytes = bytes
    }

    package var id: DevelopmentTokenID {
        let digits = Array("0123456789abcdef".utf8)
        let text = bytes.prefix(DevelopmentTokenID.byteCount).flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 0xF)]] }
        return DevelopmentTokenID(unchecked: String(decoding: text, as: UTF8.self))
    }
}

/// The name of a development token in commands and logs: the first 64 bits of its hash, 16 hexadecimal digits in lower
/// case. It isn't secret.
package struct DevelopmentTokenID: Hashable, Sendable, Comparable, CustomStringConvertible {
    static let byteCount = 8
    package let text: String

    fileprivate init(unchecked text: String) { self.text = text }

    /// - Returns: nil for anything but 16 hexadecimal digits in lower case.
    package init?(text: String) {
        guard text.utf8.count == 2 * Self.byteCount,
            text.utf8.allSatisfy({ "0123456789abcdef".utf8.contains($0) })
        else { return nil }
        self.text = text
    }

    package var description: String { text }

    package static func < (left: Self, right: Self) -> Bool {
        left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
    }
}

/// The outcome of issuing a development token.
package enum DevelopmentTokenIssue: Sendable, Equatable {
    case issued
    /// A token with the same identifier exists: issue another one.
    case repeated
    /// The store already has ``DevelopmentTokenLimits/maximumTokens``.
    case full
}
