package import AppAttest
package import KeyStore

/// Who was admitted, and by which way. Only a policy of this module can make one, each from the proof it has checked.
package struct Principal: Sendable {
    package enum Way: Hashable, Sendable {
        case appAttest(KeyID, app: AppID)
        case debugCertificate(sha256: [UInt8], subject: String)
        case anonymous
    }

    package let way: Way

    /// - Parameter assertion: not looked at; that it exists is the proof.
    init(_ assertion: VerifiedAssertion, by key: KeyID, app: AppID) { way = .appAttest(key, app: app) }

    init(debugging certificate: ClientCertificate) {
        way = .debugCertificate(sha256: certificate.sha256, subject: certificate.subject)
    }

    private init(way: Way) { self.way = way }

    static let anonymous = Principal(way: .anonymous)

    /// The way's stable name in logs.
    package var wayName: String {
        switch way {
        case .appAttest: "app_attest"
        case .debugCertificate: "client_certificate"
        case .anonymous: "anonymous"
        }
    }

    /// Names the client in logs: the key's identifier, the certificate's SHA-256 in hex, or nothing.
    package var identity: String? {
        switch way {
        case .appAttest(let key, _): key.base64
        case .debugCertificate(let sha256, _): Hexadecimal.encode(sha256)
        case .anonymous: nil
        }
    }
}
