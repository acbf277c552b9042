/// A type, a length and a value behind the addresses of a version 2 header (section 2.2 of the specification).
package struct ProxyTLV: Hashable, Sendable {
    /// The types that we know. Others are carried as they are.
    package enum Kind: UInt8, Sendable {
        /// What the client negotiated by ALPN (RFC 7301), in bytes.
        case alpn = 0x01
        /// The host name that the client asked for, in UTF-8: the SNI of TLS.
        case authority = 0x02
        case crc32c = 0x03
        /// Padding.
        case noop = 0x04
        case uniqueID = 0x05
        /// The first of those left to applications, 0xE0–0xEF. Ours: the identity that the gate has verified, see ``ProxyTLV/identity(method:subject:)``.
        case identity = 0xe0
    }

    package static let maximumUniqueIDBytes = 128

    package let type: UInt8
    package let value: [UInt8]

    init(type: UInt8, value: [UInt8]) {
        self.type = type
        self.value = value
    }

    /// What the proxy calls this connection: at most 128 bytes (section 2.2.5), otherwise `nil`.
    package static func uniqueID(_ value: [UInt8]) -> ProxyTLV? {
        value.count <= maximumUniqueIDBytes ? ProxyTLV(.uniqueID, value) : nil
    }

    /// The identity that the gate has verified, in UTF-8: the method of admission, and where there is one, a colon and the subject, such as
    /// `app_attest:` with the key's identifier in base64. A target that reads it must accept it from its gateway alone.
    package static func identity(method: String, subject: String?) -> ProxyTLV {
        ProxyTLV(.identity, Array((subject.map { method + ":" + $0 } ?? method).utf8))
    }

    package static func authority(_ hostName: String) -> ProxyTLV { ProxyTLV(.authority, Array(hostName.utf8)) }

    package static func alpn(_ name: [UInt8]) -> ProxyTLV { ProxyTLV(.alpn, name) }

    private init(_ kind: Kind, _ value: [UInt8]) { self.init(type: kind.rawValue, value: value) }
}
