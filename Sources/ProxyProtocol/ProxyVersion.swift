/// The version in which a header is written.
package enum ProxyVersion: String, Hashable, Sendable, CaseIterable {
    case v1
    case v2
}

package enum ProxyHeaderLimits {
    /// The maximum size of a version 2 header, written or read. A header must be sent in one piece, and every TCP accepts 536 bytes in one
    /// segment (RFC 9293 section 3.7.1). With IPv6 that leaves 484 bytes for TLVs; ours need less than half. The length field would allow
    /// 65,551 bytes from a peer that is not authenticated yet.
    package static let maximumBytes = 536
    /// The maximum size of a version 1 header, from the specification.
    package static let maximumV1Bytes = ProxyHeaderV1.maximumBytes
}

extension ProxyHeader {
    /// The bytes to send before any other, in one piece.
    ///
    /// Version 1 has no TLVs and can't distinguish the proxy's own connections from those of an unknown client.
    /// - Parameter withChecksum: adds the CRC32C of version 2.
    /// - Returns: `nil` if the TLVs make it longer than ``ProxyHeaderLimits/maximumBytes``.
    package func encoded(as version: ProxyVersion, withChecksum: Bool = false) -> [UInt8]? {
        switch version {
        case .v1: ProxyHeaderV1.encode(self)
        case .v2: ProxyHeaderV2.encode(self, withChecksum: withChecksum)
        }
    }
}
