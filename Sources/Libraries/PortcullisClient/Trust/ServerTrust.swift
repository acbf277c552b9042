public import Foundation

/// Which servers a transport believes.
///
/// Without pins the system's rules apply. With pins the certificate has to be valid by these rules **and** its key has
/// to be one of the pinned ones. Pin the current key and the next one, so that the gateway can change its certificate.
public struct ServerTrust: Sendable {
    /// The SHA-256 of the public keys (SubjectPublicKeyInfo) that are accepted; empty: any.
    public let pins: [ServerPin]
    /// Certificates in DER that are trusted besides the system's authorities, for a gateway with an authority of its
    /// own.
    public let authorities: [Data]

    #if DEBUG
        /// Debug builds only: any certificate, for a gateway on the developer's machine. The pins apply all the same.
        public var acceptsAnyCertificate = false
        /// Debug builds only: presented when the server asks for a certificate.
        public var clientCertificate: ClientCertificate?
    #endif

    public init(pins: [ServerPin] = [], authorities: [Data] = []) {
        (self.pins, self.authorities) = (pins, authorities)
    }

    /// Whether the key of a server's certificate is one of the pinned ones.
    ///
    /// - Parameter certificate: in DER.
    package func acceptsKey(of certificate: [UInt8]) -> Bool {
        guard !pins.isEmpty else { return true }
        guard let key = CertificateKey.info(in: certificate) else { return false }
        let digest = Digest.sha256(Array(key))
        return pins.contains { $0.digest == digest }
    }
}

/// The SHA-256 of a server's public key. `portcullis certificate pins` prints it.
public struct ServerPin: Sendable {
    let digest: [UInt8]

    /// - Parameter text: base64 of 32 bytes, with or without `sha256/` in front.
    /// - Throws: ``GateError/configuration(_:)``
    public init(_ text: String) throws(GateError) {
        let symbols = text.beginsSame(as: "sha256/") ? text.utf8.dropFirst(7) : text.utf8[...]
        guard let digest = BinaryText.bytes(base64: symbols), digest.count == 32 else {
            throw .configuration(.invalidPin)
        }
        self.digest = digest
    }
}

#if DEBUG
    /// A client certificate with its key, for debug builds only: whoever has the file can enter.
    public struct ClientCertificate: Sendable {
        package let pkcs12: Data
        package let passphrase: String

        /// - Parameters:
        ///   - pkcs12: the content of `client.p12`.
        ///   - passphrase: of the file; empty in development files.
        public init(pkcs12: Data, passphrase: String = "") { (self.pkcs12, self.passphrase) = (pkcs12, passphrase) }

        /// Reads a file of the main bundle. Add it to the debug configuration only.
        ///
        /// - Throws: ``GateError/configuration(_:)``
        public init(resource: String = "client", withExtension suffix: String = "p12", passphrase: String = "")
            throws(GateError)
        {
            guard let url = Bundle.main.url(forResource: resource, withExtension: suffix),
                let content = try? Data(contentsOf: url)
            else { throw .configuration(.invalidCertificate) }
            self.init(pkcs12: content, passphrase: passphrase)
        }
    }
#endif
