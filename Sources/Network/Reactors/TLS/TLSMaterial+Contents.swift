import COpenSSL

extension TLSMaterial {
    /// The certificates that a handshake presents, the CA names it requests and what it trusts, each by its SHA-256.
    /// The key isn't included: material exists only if the key matches the first certificate.
    struct Contents: Equatable {
        private let shown: [[UInt8]]
        private let askedFor: [[UInt8]]
        private let trusted: [[UInt8]]
        /// The CA file may contain a revocation list too, so `trusted` alone doesn't tell whether lists are checked.
        private let asksForCertificates: Bool
        private let checksLists: Bool
        private let isTLS13Only: Bool

        /// - Parameter holder: fully loaded.
        /// - Returns: nil if a digest could not be computed; such contents equal no others.
        init?(of holder: OpaquePointer, _ settings: TLSSettings) {
            asksForCertificates = settings.clientCAPath != nil
            checksLists = settings.clientCRLPath != nil
            isTLS13Only = settings.isTLS13Only
            let certificates =
                [SSL_CTX_get0_certificate(holder)] + Stack.elements(of: portcullis_SSL_CTX_get0_chain(holder))
            let names = Stack.elements(of: SSL_CTX_get_client_CA_list(holder))
            let objects = Stack.elements(of: X509_STORE_get0_objects(SSL_CTX_get_cert_store(holder)))
            guard let shown = Self.digests(of: certificates, { X509_digest($0, EVP_sha256(), $1, $2) }),
                let askedFor = Self.digests(of: names, { X509_NAME_digest($0, EVP_sha256(), $1, $2) }),
                let trusted = Self.digests(of: objects, Self.digestObject)
            else { return nil }
            self.shown = shown
            self.askedFor = askedFor
            self.trusted = trusted
        }

        private typealias Digest = (OpaquePointer?, UnsafeMutablePointer<UInt8>?, UnsafeMutablePointer<UInt32>) -> Int32

        private static func digestObject(
            _ object: OpaquePointer?, _ bytes: UnsafeMutablePointer<UInt8>?, _ length: UnsafeMutablePointer<UInt32>
        ) -> Int32 {
            X509_OBJECT_get_type(object) == X509_LU_CRL
                ? X509_CRL_digest(X509_OBJECT_get0_X509_CRL(object), EVP_sha256(), bytes, length)
                : X509_digest(X509_OBJECT_get0_X509(object), EVP_sha256(), bytes, length)
        }

        private static func digests(of objects: [OpaquePointer?], _ digest: Digest) -> [[UInt8]]? {
            var all: [[UInt8]] = []
            for object in objects {
                var bytes = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
                var length: UInt32 = 0
                guard digest(object, &bytes, &length) == 1 else { return nil }
                all.append(Array(bytes.prefix(Int(length))))
            }
            return all
        }
    }
}

/// OpenSSL's pointer stacks, which are untyped in Swift.
enum Stack {
    static func elements(of stack: OpaquePointer?) -> [OpaquePointer] {
        guard let stack else { return [] }
        return (0..<OPENSSL_sk_num(stack)).compactMap { OPENSSL_sk_value(stack, $0).map { OpaquePointer($0) } }
    }
}
