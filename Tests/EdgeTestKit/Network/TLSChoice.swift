import NIOCore
import NIOSSL
import Synchronization

/// A client's TLS settings: the certificates it trusts and presents, and the protocol versions it offers.
package struct TLSChoice: Sendable, Hashable {
    package enum Version: Sendable, Hashable { case tls12, tls13 }

    /// PEM file to verify the server against; nil accepts any server.
    package var trustedCA: String?
    package var identity: DevCertificates.Identity?
    package var only: Version?
    package var applicationProtocols: [String]

    package init(
        trustedCA: String? = nil, identity: DevCertificates.Identity? = nil, only: Version? = nil,
        applicationProtocols: [String] = []
    ) {
        self.trustedCA = trustedCA
        self.identity = identity
        self.only = only
        self.applicationProtocols = applicationProtocols
    }

    /// Contexts are expensive to create and can be shared.
    private static let contexts = Mutex<[TLSChoice: NIOSSLContext]>([:])

    func context() throws -> NIOSSLContext {
        if let known = Self.contexts.withLock({ $0[self] }) { return known }
        let made = try NIOSSLContext(configuration: configuration())
        Self.contexts.withLock { $0[self] = made }
        return made
    }

    private func configuration() throws -> TLSConfiguration {
        var configuration = TLSConfiguration.makeClientConfiguration()
        if let trustedCA {
            configuration.trustRoots = .file(trustedCA)
        } else {
            configuration.certificateVerification = .none
        }
        if let identity {
            configuration.certificateChain = try NIOSSLCertificate.fromPEMFile(identity.certificate).map {
                .certificate($0)
            }
            configuration.privateKey = .privateKey(try NIOSSLPrivateKey(file: identity.key, format: .pem))
        }
        configuration.applicationProtocols = applicationProtocols
        switch only {
        case .tls12: configuration.maximumTLSVersion = .tlsv12
        case .tls13: configuration.minimumTLSVersion = .tlsv13
        case nil: break
        }
        return configuration
    }
}
