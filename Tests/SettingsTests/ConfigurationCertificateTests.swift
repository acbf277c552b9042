import Foundation
import SettingsTestKit
import SwiftASN1
import Testing
import X509

@testable import Settings

@Suite struct ConfigurationCertificateTests {
    private let bench: ConfigurationBench
    private let day = 86_400.0

    init() throws {
        bench = try ConfigurationBench()
    }

    @Test func `a certificate with its key is accepted without a warning`() throws {
        let loaded = try bench.load(try bench.secured())
        #expect(loaded.configuration.tls != nil)
        #expect(loaded.warnings == [])
    }

    @Test func `a chain and text around it are accepted`() throws {
        let server = try bench.authority.issue("server", now: bench.now, hosts: ["mud.example.org"])
        let chain = try bench.file(
            "chain.pem", "Certificate:\n  Data\n" + server.certificate + bench.authority.certificate)
        let key = try bench.file("chain.key", server.key)
        #expect(try bench.load(bench.secured(["TLS_CERT_PATH": chain, "TLS_KEY_PATH": key])).warnings == [])
    }

    @Test func `a certificate that isn't older than the announced one has its key`() throws {
        let hosts = ["mud.example.org"]
        let later = try bench.authority.issue("next", now: bench.now + day, hosts: hosts)
        let loaded = try bench.load(bench.secured(["NEXT_CERT_PATH": try bench.file("next.pem", later.certificate)]))
        #expect(loaded.warnings == [])
        let keys = try #require(loaded.configuration.tls?.keys)
        #expect(keys.inUse != nil && keys.next != nil && keys.inUse != keys.next)
        let announced = try bench.authority.issue("next", now: bench.now - day, hosts: hosts)
        let path = try bench.file("announced.pem", announced.certificate)
        let equal = try bench.authority.issue("next", now: bench.now, hosts: hosts)
        for other in [path, try bench.file("equal.pem", equal.certificate)] {
            let warnings = try bench.load(bench.secured(["NEXT_CERT_PATH": other])).warnings
            #expect(warnings.count == 1 && warnings[0].text.contains("NEXT_CERT_PATH"), "\(warnings)")
            #expect(warnings.allSatisfy { $0.setting == "TLS_CERT_PATH" && $0.isGuess })
        }
        let replaced = try bench.secured([
            "NEXT_CERT_PATH": path, "TLS_CERT_PATH": path,
            "TLS_KEY_PATH": try bench.file("announced.key", announced.key),
        ])
        #expect(try bench.warnings(replaced) == [])
        #expect(bench.problems(try bench.secured(["NEXT_CERT_PATH": "/nonexistent"])).count == 1)
    }

    @Test func `a certificate is refused by clients that know others`() {
        typealias Keys = GatewayConfiguration.CertificateKeys
        let known = Keys(inUse: [1], next: [2])
        #expect(!known.refuse(Keys(inUse: [1])) && !known.refuse(Keys(inUse: [2])) && known.refuse(Keys(inUse: [3])))
        #expect(!Keys(inUse: [1]).refuse(Keys(inUse: [3])) && !known.refuse(Keys()))
    }

    @Test func `a key of another certificate is refused`() throws {
        let other = try bench.authority.issue("other", now: bench.now)
        let settings = try bench.secured(["TLS_KEY_PATH": try bench.file("other.key", other.key)])
        #expect(bench.problems(settings) == ["TLS_KEY_PATH isn't the key of the first certificate in TLS_CERT_PATH"])
    }

    @Test(arguments: [
        ("", "names a file without a CERTIFICATE in PEM"),
        ("-----BEGIN CERTIFICATE-----\nAAAA\n", "names a file that isn't well-formed PEM"),
        ("-----BEGIN CERTIFICATE-----\n?\n-----END CERTIFICATE-----\n", "names a file that isn't well-formed PEM"),
        ("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "holds a certificate that can't be read"),
        ("-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n", "names a file without a CERTIFICATE in PEM"),
    ])
    func `a file that is no certificate is refused`(contents: String, problem: String) throws {
        let path = try bench.file("bad.pem", contents)
        #expect(bench.problems(try bench.secured(["TLS_CERT_PATH": path])) == ["TLS_CERT_PATH " + problem])
        #expect(bench.problems(try bench.secured(["MTLS_CLIENT_CA_PATH": path])) == ["MTLS_CLIENT_CA_PATH " + problem])
        let root = try bench.secured(["APPATTEST_ROOT_CA_PATH": path, "APPATTEST_ALLOW_CUSTOM_ROOT": "true"])
        #expect(bench.problems(root) == ["APPATTEST_ROOT_CA_PATH " + problem])
    }

    @Test(arguments: [
        (
            "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n",
            "names an encrypted key, whose passphrase nobody could enter"
        ),
        (
            // As `openssl genrsa -aes256 -traditional` writes it.
            """
            -----BEGIN RSA PRIVATE KEY-----
            Proc-Type: 4,ENCRYPTED
            DEK-Info: AES-256-CBC,0123456789ABCDEF0123456789ABCDEF

            AAAA
            -----END RSA PRIVATE KEY-----

            """,
            "names an encrypted key, whose passphrase nobody could enter"
        ),
        ("-----BEGIN EC PRIVATE KEY-----\nAAAA\n-----END EC PRIVATE KEY-----\n", "names a key that can't be read"),
        (
            "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
            "names a file without a PRIVATE KEY in PEM"
        ),
    ])
    func `a file that is no usable key is refused`(contents: String, problem: String) throws {
        let settings = try bench.secured(["TLS_KEY_PATH": try bench.file("bad.key", contents)])
        #expect(bench.problems(settings) == ["TLS_KEY_PATH " + problem])
    }

    @Test func `an unreadable or binary file is refused with its reason`() throws {
        #expect(
            bench.problems(try bench.secured(["TLS_CERT_PATH": "/nonexistent.pem"])) == [
                "TLS_CERT_PATH names a file that can't be read (/nonexistent.pem: No such file or directory)"
            ])
        #expect(
            bench.problems(try bench.secured(["TLS_CERT_PATH": bench.folder])) == [
                "TLS_CERT_PATH names a file that can't be read (\(bench.folder): Is a directory)"
            ])
        let binary = bench.folder + "/binary.pem"
        try Data([0xFF, 0xFE]).write(to: URL(fileURLWithPath: binary))
        #expect(
            bench.problems(try bench.secured(["TLS_CERT_PATH": binary])) == [
                "TLS_CERT_PATH names a file that isn't UTF-8 text"
            ])
    }

    @Test func `a key that others can read causes a warning`() throws {
        let server = try bench.authority.issue("server", now: bench.now, hosts: ["mud.example.org"])
        let settings = try bench.secured([
            "TLS_CERT_PATH": try bench.file("open.pem", server.certificate),
            "TLS_KEY_PATH": try bench.file("open.key", server.key, mode: 0o644),
        ])
        #expect(
            try bench.warnings(settings) == ["TLS_KEY_PATH: all users of this machine can read the key: chmod o= it."])
    }

    @Test(arguments: [(-1.0, "expired at"), (29.0, "expires at")])
    func `a certificate that expires soon causes a warning`(days: Double, word: String) throws {
        let server = try bench.authority.issue("server", now: bench.now, days: days, hosts: ["mud.example.org"])
        let warnings = try bench.warnings(
            try bench.secured([
                "TLS_CERT_PATH": try bench.file("old.pem", server.certificate),
                "TLS_KEY_PATH": try bench.file("old.key", server.key),
            ]))
        #expect(warnings.count == 1)
        #expect(warnings.first?.hasPrefix("TLS_CERT_PATH: the certificate of CN=server \(word) 2026-0") == true)
    }

    @Test func `a certificate that is valid for a month causes no warning`() throws {
        let server = try bench.authority.issue("server", now: bench.now, days: 30, hosts: ["mud.example.org"])
        let settings = try bench.secured([
            "TLS_CERT_PATH": try bench.file("new.pem", server.certificate),
            "TLS_KEY_PATH": try bench.file("new.key", server.key),
        ])
        #expect(try bench.warnings(settings) == [])
    }

    @Test func `a client CA that is no CA causes a warning`() throws {
        let client = try bench.authority.issue("client", now: bench.now)
        let warnings = try bench.warnings(
            try bench.secured(["MTLS_CLIENT_CA_PATH": try bench.file("client.pem", client.certificate)]))
        #expect(warnings.count == 1)
        #expect(warnings.first?.contains("CN=client isn't a certificate authority") == true)
    }

    @Test func `a custom root is read and causes a warning at every start`() throws {
        let path = try bench.file("root.pem", bench.authority.certificate)
        let settings = bench.least(["APPATTEST_ROOT_CA_PATH": path, "APPATTEST_ALLOW_CUSTOM_ROOT": "true"])
        let root = try bench.load(settings).configuration.appAttest?.customRoot
        #expect(root == .init(path: path, pem: bench.authority.certificate))
        #expect(try bench.load(settings).warnings.map(\.setting) == ["APPATTEST_ROOT_CA_PATH"])
    }

    @Test func `a root file contains one certificate`() throws {
        let path = try bench.file("roots.pem", bench.authority.certificate + bench.authority.certificate)
        let settings = bench.least(["APPATTEST_ROOT_CA_PATH": path, "APPATTEST_ALLOW_CUSTOM_ROOT": "true"])
        #expect(bench.problems(settings) == ["APPATTEST_ROOT_CA_PATH names a file with 2 certificates"])
    }

    // MARK: Revocation lists

    private func withList(_ list: String, authorities: String? = nil) throws -> [String: String] {
        try bench.secured([
            "MTLS_CLIENT_CA_PATH": try bench.file("ca.pem", authorities ?? bench.authority.certificate),
            "MTLS_CLIENT_CRL_PATH": try bench.file("crl.pem", list),
        ])
    }

    private func list(_ days: Double?, since: Double = -1) throws -> String {
        try bench.authority.revocationList(
            thisUpdate: bench.now + since * day, nextUpdate: days.map { bench.now + $0 * day })
    }

    @Test(arguments: [30.0, nil])
    func `a fresh revocation list is accepted without a warning`(days: Double?) throws {
        let loaded = try bench.load(try withList(try list(days)))
        #expect(loaded.warnings == [])
        #expect(loaded.configuration.clientCertificates?.revocationListPath == bench.folder + "/crl.pem")
    }

    @Test(arguments: [
        (
            -0.5, -1.0,
            "expired at 2026-06-30T21:05:03Z. Until a fresh one is in place, every client certificate is refused."
        ),
        (6.0, -1.0, "expires at 2026-07-07T09:05:03Z."),
        (30.0, 1.0, "isn't valid yet; until it is, client certificates are refused."),
    ])
    func `a revocation list that is or soon will be out of date causes a warning`(
        days: Double, since: Double, text: String
    ) throws {
        #expect(
            try bench.warnings(try withList(try list(days, since: since))) == [
                "MTLS_CLIENT_CRL_PATH: the revocation list of CN=Test CA " + text
            ])
    }

    @Test func `a revocation list of another CA is refused`() throws {
        let other = try TestAuthority(name: "Other CA", now: bench.now)
        let foreign = try other.revocationList(thisUpdate: bench.now - day, nextUpdate: nil)
        #expect(
            bench.problems(try withList(foreign)) == [
                "MTLS_CLIENT_CRL_PATH holds a list of another authority (CN=Other CA)"
            ])
    }

    @Test func `a client CA without a revocation list causes a warning`() throws {
        let other = try TestAuthority(name: "Other CA", now: bench.now)
        let settings = try withList(try list(30), authorities: bench.authority.certificate + other.certificate)
        #expect(
            try bench.warnings(settings) == [
                "MTLS_CLIENT_CRL_PATH: has no list of CN=Other CA: all of its certificates are refused."
            ])
    }

    @Test(arguments: [
        ("-----BEGIN X509 CRL-----\nMAA=\n-----END X509 CRL-----\n", "holds a list that can't be read"),
        ("nothing", "names a file without a X509 CRL in PEM"),
    ])
    func `a file that is no revocation list is refused`(contents: String, problem: String) throws {
        #expect(bench.problems(try withList(contents)) == ["MTLS_CLIENT_CRL_PATH " + problem])
    }

    @Test func `a revocation list written by OpenSSL is read to the second`() throws {
        let document = try #require(try PEMDocument.parseMultiple(pemString: OpenSSLSamples.revocationList).first)
        let list = try RevocationListDates(der: document.derBytes)
        #expect(list.issuer == (try Certificate(pemEncoded: OpenSSLSamples.authority)).subject)
        #expect(list.thisUpdate == Date(timeIntervalSince1970: 1_795_257_665))
        #expect(list.nextUpdate == Date(timeIntervalSince1970: 1_795_257_665 + 30 * day))
    }

    @Test func `every prefix of a revocation list is refused and never traps`() throws {
        let document = try #require(try PEMDocument.parseMultiple(pemString: OpenSSLSamples.revocationList).first)
        for count in 0..<document.derBytes.count {
            #expect(throws: (any Error).self) {
                try RevocationListDates(der: Array(document.derBytes.prefix(count)))
            }
        }
    }
}
