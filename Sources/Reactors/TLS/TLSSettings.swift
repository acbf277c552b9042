/// What the outside's TLS is made of. The files are read where a `TLSMaterial` is made of them.
package struct TLSSettings: Sendable {
    package var certificatePath: String
    package var privateKeyPath: String
    /// Certificates that verify against this CA alone count as debug clients'; nil asks for none.
    package var clientCAPath: String?
    /// Certificates revoked by that CA. An expired list refuses everybody.
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
