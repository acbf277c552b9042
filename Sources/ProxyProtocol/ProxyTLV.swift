/// A type-length-value field after the addresses of a version 2 header (section 2.2 of the specification).
package struct ProxyTLV: Hashable, Sendable {
    /// The known types. TLVs of other types are kept as they are.
    package enum Kind: UInt8, Sendable {
        /// The protocol that the client negotiated by ALPN (RFC 7301), in bytes.
        case alpn = 0x01
        /// The host name that the client requested, in UTF-8: the TLS SNI.
        case authority = 0x02
        case crc32c = 0x03
        /// Padding.
        case noop = 0x04
        case uniqueID = 0x05
        /// The first of the types for applications, 0xE0–0xEF. Defined by the gateway: the identity that the gate has verified, see
        /// ``ProxyTLV/identity(method:subject:)``.
        case identity = 0xe0
    }

    package static let maximumUniqueIDBytes = 128

    package let type: UInt8
    package let value: [UInt8]

    init(type: UInt8, value: [UInt8]) {
        self.type = type
        self.value = value
    }

    /// The proxy's identifier of this connection: at most 128 bytes (section 2.2.5), otherwise `nil`.
    package static func uniqueID(_ value: [UInt8]) -> ProxyTLV? {
        value.count <= maximumUniqueIDBytes ? ProxyTLV(.uniqueID, value) : nil
    }

    /// The identity that the gate has verified, in UTF-8: the admission method and, if there is one, a colon and the subject, such as
    /// `app_attest:` with the key's identifier in base64. A target that reads it must accept it only from its gateway.
    package static func identity(method: String, subject: String?) -> ProxyTLV {
        ProxyTLV(.identity, Array((subject.map { method + ":" + $0 } ?? method).utf8))
    }

    package static func authority(_ hostName: String) -> ProxyTLV { ProxyTLV(.authority, Array(hostName.utf8)) }

    package static func alpn(_ name: [UInt8]) -> ProxyTLV { ProxyTLV(.alpn, name) }

    private init(_ kind: Kind, _ value: [UInt8]) { self.init(type: kind.rawValue, value: value) }
}
