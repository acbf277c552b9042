import COpenSSL
import Glibc
import Testing
import WireText

@testable import Reactors

/// The edge's TLS material: complete and usable, or refused before any reactor uses it.
@Suite struct TLSMaterialTests {
    private let files = TestCertificates.serverFiles

    private func settings(
        certificate: String? = nil, key: String? = nil, ca: String? = nil, list: String? = nil
    ) -> TLSSettings {
        TLSSettings(
            certificatePath: certificate ?? files.certificate.path, privateKeyPath: key ?? files.key.path,
            clientCAPath: ca, clientCRLPath: list)
    }

    private func problem(_ settings: TLSSettings) -> String? {
        do throws(TLSMaterialError) {
            _ = try TLSMaterial(settings)
            return nil
        } catch {
            return error.description
        }
    }

    @Test func `valid files are accepted`() {
        #expect(problem(settings(ca: TestCertificates.authorityFile.path)) == nil)
    }

    @Test func `an invalid file is named`() throws {
        let other = NamelessFile(TestCertificates.selfSigned.keyPEM)
        let nonsense = NamelessFile("nonsense")
        let ca = TestCertificates.authorityFile.path
        let cases = [
            (settings(certificate: nonsense.path), nonsense.path), (settings(key: nonsense.path), nonsense.path),
            (settings(key: other.path), other.path), (settings(ca: nonsense.path), nonsense.path),
            (settings(ca: ca, list: nonsense.path), nonsense.path), (settings(ca: "/nowhere"), "/nowhere"),
        ]
        for (settings, path) in cases {
            let text = try #require(problem(settings))
            #expect(text.hasPrefix(path + ": "), "\(text)")
        }
    }

    @Test func `material of the same files is equal, and of other files isn't`() throws {
        let ca = TestCertificates.authorityFile.path
        let identity = TestIdentity("revoked", by: TestCertificates.authority)
        let listText = TestCertificates.authority.revocationList(of: [identity])
        let list = NamelessFile(listText)
        // A revocation list in the CA file is loaded, but not checked unless a list file is configured.
        let caAndList = NamelessFile(TestCertificates.authority.pem + listText)
        let otherList = NamelessFile(TestCertificates.authority.revocationList(of: []))
        let bothAuthorities = NamelessFile(TestCertificates.authority.pem + TestCertificates.otherAuthority.pem)
        let other = TestIdentity("server", names: "DNS:localhost", by: TestCertificates.authority)
        let (certificate, key) = (NamelessFile(other.pem), NamelessFile(other.keyPEM))
        let withChain = NamelessFile(TestCertificates.server.pem + TestCertificates.authority.pem)
        let all = [
            settings(), settings(certificate: certificate.path, key: key.path), settings(certificate: withChain.path),
            settings(ca: ca), settings(ca: bothAuthorities.path), settings(ca: ca, list: list.path),
            settings(ca: ca, list: otherList.path), settings(ca: caAndList.path),
            settings(ca: caAndList.path, list: otherList.path),
        ]
        for (first, one) in all.enumerated() {
            for (second, another) in all.enumerated() {
                let isSame = try TLSMaterial(one).isSame(as: TLSMaterial(another))
                #expect(isSame == (first == second), "\(first) and \(second)")
            }
        }
    }

    /// A list identifies certificates by issuer and serial number; another authority's certificate with the same number
    /// doesn't match.
    @Test func `a revocation list revokes the certificates that it names`() throws {
        let revoked = TestIdentity("revoked", by: TestCertificates.authority)
        let innocent = TestIdentity("innocent", by: TestCertificates.authority)
        let list = NamelessFile(TestCertificates.authority.revocationList(of: [revoked]))
        let material = try TLSMaterial(settings(ca: TestCertificates.authorityFile.path, list: list.path))
        #expect(material.revokes(issuer: revoked.issuerDER, serial: revoked.serialDER))
        #expect(!material.revokes(issuer: innocent.issuerDER, serial: innocent.serialDER))
        #expect(!material.revokes(issuer: TestCertificates.selfSigned.issuerDER, serial: revoked.serialDER))
        for broken: [UInt8] in [[], [0x30], [0x30, 0x80], [0x02, 0x01]] {
            #expect(!material.revokes(issuer: broken, serial: revoked.serialDER))
            #expect(!material.revokes(issuer: revoked.issuerDER, serial: broken))
        }
        let without = try TLSMaterial(settings(ca: TestCertificates.authorityFile.path))
        #expect(!without.revokes(issuer: revoked.issuerDER, serial: revoked.serialDER))
    }

    /// Lists are checked only if a list file is configured, even if both materials contain the same list.
    @Test func `material with a configured revocation list differs from material without one`() throws {
        let list = TestCertificates.authority.revocationList(of: [])
        let (bundle, alone) = (NamelessFile(TestCertificates.authority.pem + list), NamelessFile(list))
        let without = try TLSMaterial(settings(ca: bundle.path))
        let with = try TLSMaterial(settings(ca: bundle.path, list: alone.path))
        #expect(!without.isSame(as: with))
        #expect(!with.isSame(as: without))
    }

    // MARK: After the handshake

    @Test func `a verified chain is kept and can be verified again without the connection`() throws {
        let material = try TLSMaterial(settings(ca: TestCertificates.authorityFile.path))
        let between = TestIdentity("between", isAuthority: true, by: TestCertificates.authority)
        let client = TestIdentity("client", by: between)
        let pair = TLSPair(material, TLS1_3_VERSION, client: client, sending: [between])
        #expect(pair.shakeHands())
        let shown = try #require(PeerCertificate(of: pair.server, trusting: material))
        #expect(shown.isVerified && shown.chain == [client.der, between.der])
        #expect(material.problem(withChain: shown.chain, atUnixSeconds: time(nil)) == nil)
    }

    @Test func `a chain that didn't verify isn't kept`() throws {
        let material = try TLSMaterial(settings(ca: TestCertificates.authorityFile.path))
        let stranger = TestIdentity("stranger", by: TestCertificates.otherAuthority)
        let pair = TLSPair(material, TLS1_3_VERSION, client: stranger)
        #expect(pair.shakeHands())
        portcullis_SSL_SESSION_set_time(SSL_get_session(pair.server), time(nil) - 2 * TLSMaterial.verificationSeconds)
        let shown = try #require(PeerCertificate(of: pair.server, trusting: material))
        #expect(!shown.isVerified && shown.chain.isEmpty)
    }

    /// The handshake accepts a certificate from another CA, because the refusal comes in HTTP. The result here
    /// therefore shows whether the certificate was verified again.
    @Test(arguments: [0, 30]) func `the verification of a recent handshake is reused`(age: Int) throws {
        #expect(try vouches(forStrangerAtAge: age))
    }

    @Test(arguments: [61, 86_400, -60]) func `an old or future verification is repeated`(age: Int) throws {
        #expect(try !vouches(forStrangerAtAge: age))
    }

    private func vouches(forStrangerAtAge age: Int) throws -> Bool {
        let material = try TLSMaterial(settings(ca: TestCertificates.authorityFile.path))
        let stranger = TestIdentity("stranger", by: TestCertificates.otherAuthority)
        let pair = TLSPair(material, TLS1_3_VERSION, client: stranger)
        #expect(pair.shakeHands())
        let certificate = try #require(portcullis_SSL_get1_peer_certificate(pair.server))
        defer { X509_free(certificate) }
        portcullis_SSL_SESSION_set_time(SSL_get_session(pair.server), time(nil) - age)
        return material.vouches(for: certificate, of: pair.server)
    }

    /// With TLS 1.2 OpenSSL itself keeps no keys. In the hybrid exchange the server has no key of its own: it keeps the
    /// client's.
    @Test(arguments: [(TLS1_2_VERSION, KeyExchange.groups, 0), (TLS1_3_VERSION, KeyExchange.groups, 2)] + hybrid)
    func `handshake secrets are wiped and the connection continues`(
        version: Int32, groups: String, kept: Int
    ) throws {
        let material = try TLSMaterial(settings(ca: TestCertificates.authorityFile.path))
        let pair = TLSPair(material, version, groups: groups)
        #expect(pair.shakeHands())
        #expect(pair.exchangedKeys.count { !$0.isEmpty } == kept)
        TLSMaterial.wipeHandshakeSecrets(pair.server)
        #expect(!pair.exchangedKeys.contains { !$0.isEmpty })
        #expect(ERR_peek_error() == 0)
        #expect(pair.says("a", from: pair.client, to: pair.server))
        #expect(pair.says("b", from: pair.server, to: pair.client))
        guard version == TLS1_3_VERSION else { return }
        #expect(SSL_key_update(pair.client, SSL_KEY_UPDATE_REQUESTED) == 1)
        #expect(pair.says("c", from: pair.client, to: pair.server))
        #expect(pair.says("d", from: pair.server, to: pair.client))
    }

    /// Only where OpenSSL has it: since 3.5.
    static let hybrid: [(Int32, String, Int)] = {
        let context = SSL_CTX_new(TLS_server_method())!
        defer { SSL_CTX_free(context) }
        let group = "X25519MLKEM768"
        defer { OpenSSLError.clear() }
        return portcullis_SSL_CTX_set1_groups_list(context, group) == 1 ? [(TLS1_3_VERSION, group, 1)] : []
    }()

    private static let named: [(String, hosts: [String], addresses: [String])] = [
        ("DNS:b.example,IP:192.0.2.1,DNS:*.a.example,IP:::1", ["b.example", "*.a.example"], ["192.0.2.1", "::1"]),
        ("email:a@b.example,URI:https://c.example,IP:::ffff:192.0.2.1", [], ["::ffff:c000:201"]),
    ]

    @Test func `it knows the names of its certificate, and not the common name`() throws {
        for (names, hosts, addresses) in [("", [], [])] + Self.named {
            let identity = TestIdentity("common.example", names: names.isEmpty ? nil : names)
            let (certificate, key) = (NamelessFile(identity.pem), NamelessFile(identity.keyPEM))
            let material = try TLSMaterial(
                TLSSettings(certificatePath: certificate.path, privateKeyPath: key.path))
            #expect(material.dnsNames == hosts && material.addresses.map(\.text) == addresses)
        }
    }
}

/// A server that uses the material, and a client, connected through memory. One thread.
private final class TLSPair {
    let server: OpaquePointer
    let client: OpaquePointer

    init(
        _ material: TLSMaterial, _ version: Int32, client identity: TestIdentity? = nil,
        sending others: [TestIdentity] = [], groups: String = KeyExchange.groups
    ) {
        server = Self.make(TLS_server_method(), version, groups)
        client = Self.make(TLS_client_method(), version, groups)
        var ends: (OpaquePointer?, OpaquePointer?)
        BIO_new_bio_pair(&ends.0, 0, &ends.1, 0)
        SSL_set_bio(server, ends.0, ends.0)
        SSL_set_bio(client, ends.1, ends.1)
        SSL_set_accept_state(server)
        SSL_set_connect_state(client)
        if let identity {
            SSL_use_certificate(client, identity.certificate)
            SSL_use_PrivateKey(client, identity.key)
            // SSL_add1_chain_cert, a macro.
            for other in others { SSL_ctrl(client, SSL_CTRL_CHAIN_CERT, 1, UnsafeMutableRawPointer(other.certificate)) }
        }
        #expect(material.serve(server))
    }

    deinit {
        SSL_free(server)
        SSL_free(client)
    }

    private static func make(_ method: OpaquePointer?, _ version: Int32, _ groups: String) -> OpaquePointer {
        let context = SSL_CTX_new(method)!
        defer { SSL_CTX_free(context) }
        #expect(portcullis_SSL_CTX_set1_groups_list(context, groups) == 1)
        #expect(ClientChain.limit(context))
        SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, Int(version), nil)
        SSL_CTX_ctrl(context, SSL_CTRL_SET_MAX_PROTO_VERSION, Int(version), nil)
        return SSL_new(context)!
    }

    func shakeHands() -> Bool {
        OpenSSLError.clear()
        for _ in 0..<4 {
            SSL_do_handshake(client)
            SSL_do_handshake(server)
        }
        OpenSSLError.clear()
        return SSL_is_init_finished(server) == 1 && SSL_is_init_finished(client) == 1
    }

    /// The handshake's public keys that the server still holds; empty for an emptied key object.
    var exchangedKeys: [[UInt8]] {
        [portcullis_SSL_get1_tmp_key(server), portcullis_SSL_get1_peer_tmp_key(server)].compactMap { key in
            guard let key else { return nil }
            defer { EVP_PKEY_free(key) }
            var bytes: UnsafeMutablePointer<UInt8>?
            let count = EVP_PKEY_get1_encoded_public_key(key, &bytes)
            defer {
                CRYPTO_free(bytes, nil, 0)
                OpenSSLError.clear()
            }
            return Array(UnsafeBufferPointer(start: bytes, count: count))
        }
    }

    func says(_ text: String, from: OpaquePointer, to: OpaquePointer) -> Bool {
        let bytes = Array(text.utf8)
        var buffer = [UInt8](repeating: 0, count: 16)
        guard SSL_write(from, bytes, Int32(bytes.count)) == bytes.count else { return false }
        return SSL_read(to, &buffer, 16) == bytes.count && Array(buffer[..<bytes.count]) == bytes
    }
}

extension TestIdentity {
    var der: [UInt8] { Self.der { i2d_X509(certificate, $0) } }
    fileprivate var issuerDER: [UInt8] { Self.der { i2d_X509_NAME(X509_get_issuer_name(certificate), $0) } }
    fileprivate var serialDER: [UInt8] { Self.der { i2d_ASN1_INTEGER(X509_get_serialNumber(certificate), $0) } }

    private static func der(_ encode: (UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?) -> Int32) -> [UInt8] {
        let count = Int(encode(nil))
        var bytes = [UInt8](repeating: 0, count: count)
        bytes.withUnsafeMutableBufferPointer { buffer in
            var start = buffer.baseAddress
            _ = encode(&start)
        }
        return bytes
    }

    /// A revocation list of this authority, PEM.
    func revocationList(of identities: [TestIdentity]) -> String {
        let list = X509_CRL_new()
        defer { X509_CRL_free(list) }
        let now = X509_gmtime_adj(nil, 0)
        let later = X509_gmtime_adj(nil, 86_400)
        defer {
            ASN1_TIME_free(now)
            ASN1_TIME_free(later)
        }
        X509_CRL_set_version(list, 1)
        X509_CRL_set_issuer_name(list, X509_get_subject_name(certificate))
        X509_CRL_set1_lastUpdate(list, now)
        X509_CRL_set1_nextUpdate(list, later)
        for identity in identities {
            let entry = X509_REVOKED_new()
            X509_REVOKED_set_serialNumber(entry, X509_get_serialNumber(identity.certificate))
            X509_REVOKED_set_revocationDate(entry, now)
            X509_CRL_add0_revoked(list, entry)
        }
        X509_CRL_sign(list, key, EVP_sha256())
        return Self.text { PEM_write_bio_X509_CRL($0, list) }
    }
}
