import Crypto
import Foundation

/// What a client shows of itself when it makes an account: what upgrades accept.
package enum PlayerProof: Sendable {
    case nothing
    /// A new assertion for each request.
    case assertion(TestDevice)
    /// Of an attested device, or for a development token.
    case accessToken(TokenClient, String)
    case certificate(DevCertificates.Identity)
    /// In the URL.
    case ticket(String)
}

extension GatewaySettings {
    /// With TLS for localhost and accounts of this domain. The rates of requests are high.
    package func accounts(_ certificates: DevCertificates) -> GatewaySettings {
        tls(certificates).accounts(origin: Player.origin)
    }

    /// The same without TLS, for tests that start a gateway often.
    package func plainAccounts() -> GatewaySettings { accounts(origin: "http://localhost") }

    private func accounts(origin: String) -> GatewaySettings {
        setting("PUBLIC_ORIGIN", origin).setting("PASSKEY_RP_ID", Player.relyingPartyID)
            .setting("CHALLENGES_PER_MINUTE", 1_000_000)
    }
}

extension Player {
    /// The domain of all passkeys here.
    package static let relyingPartyID = "localhost"
    /// The page that makes and uses them.
    package static let origin = "https://localhost"

    /// Unpadded base64url.
    package static func bytes(base64URL text: String) -> [UInt8]? {
        let standard = text.replacing("-", with: "+").replacing("_", with: "/")
        let padding = String(repeating: "=", count: (4 - standard.count % 4) % 4)
        return Data(base64Encoded: standard + padding).map { [UInt8]($0) }
    }

    static func sha256(_ bytes: [UInt8]) -> [UInt8] { Array(SHA256.hash(data: bytes)) }
}
