import Crypto
package import Settings
import WireText

/// The pins of the server's certificate and of the announced one: the SHA-256 of the public key (SPKI) in base64, as
/// clients and `TARGET_PINS` take it.
package struct CertificatePins: Sendable, Equatable {
    package let inUse: String?
    package let next: String?

    package init(_ keys: GatewayConfiguration.CertificateKeys) {
        (inUse, next) = (keys.inUse.map(Self.pin), keys.next.map(Self.pin))
    }

    private static func pin(_ keyInfo: [UInt8]) -> String { Base64.encode(Array(SHA256.hash(data: keyInfo))) }
}
