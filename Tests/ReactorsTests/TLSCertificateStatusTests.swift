import COpenSSL
import Glibc
import Testing

@testable import Reactors

/// A client's chain that was verified once, verified again at another time and with other material.
@Suite struct TLSCertificateStatusTests {
    private typealias Certificates = TestCertificates

    private static let day = 86_400

    private let now = time(nil)
    private let client = TestIdentity("client", by: TestCertificates.authority)

    private func problem(
        _ chain: [TestIdentity], ca: String? = TestCertificates.authority.pem, list: String? = nil, at seconds: Int
    ) throws -> String? {
        try problem(chain.map(\.der), ca: ca, list: list, at: seconds)
    }

    private func problem(_ chain: [[UInt8]], ca: String?, list: String? = nil, at seconds: Int) throws -> String? {
        let (authority, listFile) = (ca.map(NamelessFile.init), list.map(NamelessFile.init))
        let material = try TLSMaterial(
            TLSSettings(
                certificatePath: Certificates.serverFiles.certificate.path,
                privateKeyPath: Certificates.serverFiles.key.path, clientCAPath: authority?.path,
                clientCRLPath: listFile?.path))
        let problem = material.problem(withChain: chain, atUnixSeconds: seconds)
        #expect(ERR_peek_error() == 0)
        return problem
    }

    @Test func `certificates of an unchanged CA stay valid whichever file it is in`() throws {
        #expect(try problem([client], at: now) == nil)
        #expect(try problem([client], ca: Certificates.otherAuthority.pem + Certificates.authority.pem, at: now) == nil)
    }

    @Test func `a CA that is reissued with its key keeps its certificates valid`() throws {
        let again = TestIdentity("Test CA", isAuthority: true, days: 90, withKeyOf: Certificates.authority)
        #expect(again.der != Certificates.authority.der)
        #expect(try problem([client], ca: again.pem, at: now) == nil)
    }

    @Test func `certificates are invalid under another CA, a new one of the same name or none`() throws {
        let namesake = TestIdentity("Test CA", isAuthority: true)
        for ca in [Certificates.otherAuthority.pem, namesake.pem, nil] {
            #expect(try problem([client], ca: ca, at: now) != nil)
        }
        // Certificates that the client sends are never trusted by themselves.
        #expect(try problem([client, Certificates.authority], ca: Certificates.otherAuthority.pem, at: now) != nil)
    }

    @Test func `a certificate is valid only between its dates`() throws {
        let (begin, end) = (client.seconds(X509_get0_notBefore), client.seconds(X509_get0_notAfter))
        let ca = TestIdentity("Test CA", isAuthority: true, days: 90, withKeyOf: Certificates.authority).pem
        for (moment, isGood) in [
            (begin, true), (now, true), (end - 1, true), (end + 1, false), (now + 800_000_000, false),
        ] {
            #expect(try (problem([client], ca: ca, at: moment) == nil) == isGood, "\(moment)")
        }
        let soon = try #require(try problem([client], ca: ca, at: begin - 1))
        #expect(soon.contains("not yet valid"))
    }

    @Test func `intermediate and CA certificates are valid only between their dates`() throws {
        let between = TestIdentity("between", isAuthority: true, by: Certificates.authority, days: 10)
        let leaf = TestIdentity("leaf", by: between)
        #expect(try problem([leaf, between], at: now) == nil)
        #expect(try problem([leaf], at: now) != nil)
        #expect(try problem([leaf, between], at: now + 11 * Self.day) != nil)
        let ending = TestIdentity("Ending CA", isAuthority: true, days: 5)
        let under = TestIdentity("under", by: ending)
        #expect(try problem([under], ca: ending.pem, at: now) == nil)
        #expect(try problem([under], ca: ending.pem, at: now + 6 * Self.day) != nil)
    }

    @Test func `a revocation list revokes only the certificates that it names`() throws {
        let list = Certificates.authority.revocationList(of: [client])
        let neighbour = TestIdentity("neighbour", by: Certificates.authority)
        let moment = now + 1
        #expect(try #require(try problem([client], list: list, at: moment)).contains("revoked"))
        #expect(try problem([neighbour], list: list, at: moment) == nil)
    }

    @Test func `an expired, premature or missing revocation list refuses every certificate`() throws {
        let list = Certificates.authority.revocationList(of: [])
        #expect(try problem([client], list: list, at: now + 1) == nil)
        #expect(try #require(try problem([client], list: list, at: now + 2 * Self.day)).contains("CRL has expired"))
        #expect(try problem([client], list: list, at: now - Self.day) != nil)
        let other = TestIdentity("other", by: Certificates.otherAuthority)
        let both = Certificates.authority.pem + Certificates.otherAuthority.pem
        #expect(try problem([other], ca: both, at: now + 1) == nil)
        #expect(try problem([other], ca: both, list: list, at: now + 1) != nil)
    }

    @Test func `a server's certificate is no client's`() throws {
        let server = TestIdentity("server", by: Certificates.authority, usage: "serverAuth")
        #expect(try problem([server], at: now) != nil)
    }

    @Test func `data that is no chain is refused`() throws {
        for broken: [[UInt8]] in [
            [], [[]], [[0x30]], [[0x30, 0x80]], [Array(client.der.dropLast())], [client.der, []], [client.der, [0x30]],
            [[], client.der],
        ] {
            #expect(try problem(broken, ca: Certificates.authority.pem, at: now) != nil)
        }
    }
}

extension TestIdentity {
    /// One of the certificate's dates, in seconds since 1970.
    fileprivate func seconds(_ date: (OpaquePointer?) -> UnsafePointer<ASN1_TIME>?) -> Int {
        let epoch = ASN1_TIME_set(nil, 0)
        defer { ASN1_TIME_free(epoch) }
        var (days, seconds): (Int32, Int32) = (0, 0)
        ASN1_TIME_diff(&days, &seconds, epoch, date(certificate))
        return Int(days) * 86_400 + Int(seconds)
    }
}
