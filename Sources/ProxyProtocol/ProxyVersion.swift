/// In which of its two forms a header is written.
package enum ProxyVersion: String, Hashable, Sendable, CaseIterable {
    case v1
    case v2
}

package enum ProxyHeaderLimits {
    /// Of a whole version 2 header, written or read. A header has to leave in one piece, and 536 bytes are what every TCP takes in one
    /// segment (RFC 9293 section 3.7.1): with IPv6 that leaves 484 for TLVs, of which ours need less than half. The length field would
    /// allow 65,551, from somebody whom nobody has authenticated yet.
    package static let maximumBytes = 536
    /// Of a whole version 1 header, as the specification has it.
    package static let maximumV1Bytes = ProxyHeaderV1.maximumBytes
}

extension ProxyHeader {
    /// The bytes to be sent before any other, in one piece.
    ///
    /// Version 1 carries neither TLVs nor the difference between a connection of the proxy's own and one of an unknown client.
    /// - Parameter withChecksum: adds the CRC32C of version 2.
    /// - Returns: `nil` if the TLVs make it longer than ``ProxyHeaderLimits/maximumBytes``.
    package func encoded(as version: ProxyVersion, withChecksum: Bool = false) -> [UInt8]? {
        switch version {
        case .v1: ProxyHeaderV1.encode(self)
        case .v2: ProxyHeaderV2.encode(self, withChecksum: withChecksum)
        }
    }
}
