/// The edge's TLS settings. The files are read when a `TLSMaterial` is created.
package struct TLSSettings: Sendable {
    package var certificatePath: String
    package var privateKeyPath: String
    /// Only certificates that verify against this CA identify debug clients; nil requests no certificates.
    package var clientCAPath: String?
    /// The revocation list of that CA. With an expired list all client certificates are refused.
    package var clientCRLPath: String?

    package init(
        certificatePath: String, privateKeyPath: String, clientCAPath: String? = nil, clientCRLPath: String? = nil
    ) {
        self.certificatePath = certificatePath
        self.privateKeyPath = privateKeyPath
        self.clientCAPath = clientCAPath
        self.clientCRLPath = clientCRLPath
    }
}
