import COpenSSL

/// Restricts key exchange, toward clients and toward targets.
///
/// Only groups with a small, known cost are allowed. OpenSSL 3.0 accepts finite-field groups by default, and ffdhe8192
/// takes a hundred times as long as X25519: a peer that replays one recorded ClientHello could stop a reactor (the
/// D(HE)at attack, CVE-2002-20001).
enum KeyExchange {
    /// In order of preference. If OpenSSL supports X25519MLKEM768, that comes first.
    static let groups = "X25519:P-256:P-384"
    private static let hybridGroups = "X25519MLKEM768:" + groups

    /// TLS 1.2 toward clients: ephemeral elliptic curves with authenticated encryption. No finite-field exchange, and
    /// no RSA key exchange, which would let a client cause a decryption without any computation of its own.
    private static let serverCiphers = "ECDHE+AESGCM:ECDHE+CHACHA20"
    /// TLS 1.2 toward targets: RSA key exchange is allowed, because encrypting for the target's key is cheap and old
    /// MUD servers need it. Finite-field exchange is excluded, because the target would choose its size.
    private static let clientCiphers = "DEFAULT:!kDHE:!aNULL"

    static func restrictServer(_ context: OpaquePointer) -> Bool {
        restrictGroups(context) && SSL_CTX_set_cipher_list(context, serverCiphers) == 1
    }

    static func restrictClient(_ context: OpaquePointer) -> Bool {
        restrictGroups(context) && SSL_CTX_set_cipher_list(context, clientCiphers) == 1
    }

    private static func restrictGroups(_ context: OpaquePointer) -> Bool {
        if portcullis_SSL_CTX_set1_groups_list(context, hybridGroups) == 1 { return true }
        OpenSSLError.clear()
        return portcullis_SSL_CTX_set1_groups_list(context, groups) == 1
    }
}
