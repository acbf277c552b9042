import COpenSSL

extension TLSMaterial {
    /// What was in the files, each certificate and list by its SHA-256. Of the key nothing: it is the first certificate's, or there is no
    /// material.
    struct Contents: Equatable {
        private var shown: [[UInt8]] = []
        private var trusted: [[UInt8]] = []

        init() {}

        /// - Parameter holder: with everything loaded.
        init(of holder: OpaquePointer) {
            let chain = Stack.elements(of: portcullis_SSL_CTX_get0_chain(holder))
            shown = ([SSL_CTX_get0_certificate(holder)] + chain).map { certificate in
                Self.digest { X509_digest(certificate, EVP_sha256(), $0, $1) }
            }
            trusted = Stack.elements(of: X509_STORE_get0_objects(SSL_CTX_get_cert_store(holder))).map { object in
                Self.digest { bytes, length in
                    X509_OBJECT_get_type(object) == X509_LU_CRL
                        ? X509_CRL_digest(X509_OBJECT_get0_X509_CRL(object), EVP_sha256(), bytes, length)
                        : X509_digest(X509_OBJECT_get0_X509(object), EVP_sha256(), bytes, length)
                }
            }
        }

        private static func digest(
            _ compute: (UnsafeMutablePointer<UInt8>?, UnsafeMutablePointer<UInt32>) -> Int32
        ) -> [UInt8] {
            var length: UInt32 = 0
            return [UInt8](unsafeUninitializedCapacity: Int(EVP_MAX_MD_SIZE)) { buffer, count in
                if compute(buffer.baseAddress, &length) == 1 { count = Int(length) }
            }
        }
    }

    /// OpenSSL's lists of pointers, which Swift sees as untyped.
    enum Stack {
        static func elements(of stack: OpaquePointer?) -> [OpaquePointer] {
            guard let stack else { return [] }
            return (0..<OPENSSL_sk_num(stack)).compactMap { OPENSSL_sk_value(stack, $0).map { OpaquePointer($0) } }
        }
    }
}
