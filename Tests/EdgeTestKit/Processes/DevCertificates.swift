/// All kinds of certificates that the edge tests need, created once per test run by the openssl program.
///
/// The client CA and the client certificate come from the client guide's own commands (part 2.1), unchanged. With
/// OpenSSL 3.0 the result is an X.509 v1 certificate without extensions, which must be accepted; newer versions add
/// extensions. The second client has an X.509 v1 certificate with every OpenSSL. Every other file has a defect or a
/// different issuer.
package struct DevCertificates: Sendable {
    private let directory: TemporaryDirectory

    /// The files exist for the lifetime of the process, because all tests share them.
    package static func shared() async throws -> DevCertificates { try await making.value }

    private static let making = Task { try await DevCertificates() }

    private init() async throws {
        directory = try TemporaryDirectory()
        for script in [Self.server, Self.guide, Self.wrongClients, Self.revocation] {
            try await ChildProcess.check("bash", ["-euc", script], directory: directory.path)
        }
    }

    /// A certificate and its key, both as PEM files.
    package struct Identity: Sendable, Hashable {
        package let certificate: String
        package let key: String

        package init(certificate: String, key: String) {
            self.certificate = certificate
            self.key = key
        }
    }

    /// The gateway's own certificate (localhost, 127.0.0.1, ::1) and the CA that signed it.
    package var server: Identity { identity("server") }
    package var serverCA: String { directory.file("server-ca.crt") }
    var serverCAKey: String { directory.file("server-ca.key") }
    /// Another one for the same names, with an RSA key, of another CA.
    package var otherServer: Identity { identity("other-server") }
    package var otherServerCA: String { directory.file("other-server-ca.crt") }

    /// The guide's client CA and client.
    package var clientCA: String { directory.file("config/client-ca/ca.pem") }
    package var client: Identity { identity("config/client-ca/client") }
    /// A second client of the same CA, with an X.509 v1 certificate, which is never revoked.
    package var secondClient: Identity { identity("second") }

    /// Signed by the guide's CA, valid for one day of 2020.
    package var expiredClient: Identity { identity("expired") }
    /// Signed by another CA whose subject is the same.
    package var foreignClient: Identity { identity("foreign") }
    package var foreignCA: String { directory.file("foreign-ca.crt") }
    package var selfSignedClient: Identity { identity("self-signed") }
    /// Signed by the CA of the server's certificate, which isn't a client CA.
    package var clientOfServerCA: Identity { identity("server-ca-client") }

    /// Signed by the guide's CA, for the purpose of a server only.
    package var serverOnlyClient: Identity { identity("server-only") }

    /// A CRL that revokes `client`, one that revokes no certificate, and one that revokes no certificate and expired in
    /// 2020.
    package var revokingCRL: String { directory.file("revoking.crl") }
    package var emptyCRL: String { directory.file("empty.crl") }
    package var expiredCRL: String { directory.file("expired.crl") }

    private func identity(_ name: String) -> Identity {
        Identity(certificate: directory.file(name + ".crt"), key: directory.file(name + ".key"))
    }
}

extension DevCertificates {
    /// The guide's commands, verbatim.
    private static let guide = """
        mkdir -p config/client-ca

        openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes \
          -keyout config/client-ca/ca.key \
          -x509 -days 3650 \
          -subj "/CN=MudApp Debug CA/O=YourOrg" \
          -out config/client-ca/ca.pem

        openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes \
          -keyout config/client-ca/client.key \
          -subj "/CN=MudApp Debug Client" \
          -out config/client-ca/client.csr

        openssl x509 -req -days 3650 \
          -in config/client-ca/client.csr \
          -CA config/client-ca/ca.pem \
          -CAkey config/client-ca/ca.key \
          -CAcreateserial \
          -out config/client-ca/client.crt

        openssl pkcs12 -export -passout pass: \
          -inkey config/client-ca/client.key \
          -in config/client-ca/client.crt \
          -out config/client-ca/client.p12
        """

    private static let newKey = "openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes"

    private static let server = """
        \(newKey) -x509 -days 30 -subj "/CN=Portcullis Test CA" -keyout server-ca.key -out server-ca.crt
        \(newKey) -subj "/CN=localhost" -keyout server.key -out server.csr
        printf 'subjectAltName=DNS:localhost,IP:127.0.0.1,IP:::1\\nextendedKeyUsage=serverAuth\\n' > server.ext
        openssl x509 -req -days 30 -in server.csr -CA server-ca.crt -CAkey server-ca.key -CAcreateserial \
          -extfile server.ext -out server.crt
        \(newKey) -x509 -days 30 -subj "/CN=Other Test CA" -keyout other-server-ca.key -out other-server-ca.crt
        openssl req -newkey rsa:2048 -nodes -subj "/CN=localhost" -keyout other-server.key -out other-server.csr
        openssl x509 -req -days 30 -in other-server.csr -CA other-server-ca.crt -CAkey other-server-ca.key \
          -CAcreateserial -extfile server.ext -out other-server.crt
        """

    private static let wrongClients = """
        ca=config/client-ca
        sign() { openssl x509 -req -days 30 -in $1.csr -CA $2 -CAkey $3 -set_serial $4 -out $1.crt; }
        # Without extensions, which newer versions of `openssl x509` always add.
        sign_v1() {
            openssl req -help 2>&1 | grep -q -e -x509v1 || { sign "$@"; return; }
            printf '[req]\\ndistinguished_name = name\\n[name]\\n' > v1.cnf
            openssl req -x509v1 -config v1.cnf -days 30 -in $1.csr -CA $2 -CAkey $3 -set_serial $4 -out $1.crt
        }
        \(newKey) -subj "/CN=Second Client" -keyout second.key -out second.csr
        sign_v1 second $ca/ca.pem $ca/ca.key 2
        \(newKey) -x509 -days 30 -subj "/CN=MudApp Debug CA/O=YourOrg" -keyout foreign-ca.key -out foreign-ca.crt
        \(newKey) -subj "/CN=MudApp Debug Client" -keyout foreign.key -out foreign.csr
        sign foreign foreign-ca.crt foreign-ca.key 3
        \(newKey) -x509 -days 30 -subj "/CN=MudApp Debug Client" -keyout self-signed.key -out self-signed.crt
        \(newKey) -subj "/CN=Client of the server CA" -keyout server-ca-client.key -out server-ca-client.csr
        sign server-ca-client server-ca.crt server-ca.key 4
        \(newKey) -subj "/CN=Server Only" -keyout server-only.key -out server-only.csr
        openssl x509 -req -days 30 -in server-only.csr -CA $ca/ca.pem -CAkey $ca/ca.key -set_serial 5 \
          -extfile server.ext -out server-only.crt
        """

    private static let revocation = """
        cat > ca.cnf <<END
        [ca]
        default_ca = dev
        [dev]
        database = index.txt
        crlnumber = crlnumber
        serial = serial
        new_certs_dir = .
        certificate = config/client-ca/ca.pem
        private_key = config/client-ca/ca.key
        default_md = sha256
        default_crl_days = 30
        default_days = 30
        policy = anything
        [anything]
        commonName = supplied
        END
        : > index.txt; echo 1000 > serial; echo 01 > crlnumber
        \(newKey) -subj "/CN=Expired Client" -keyout expired.key -out expired.csr
        openssl ca -batch -config ca.cnf -in expired.csr -startdate 20200101000000Z -enddate 20200102000000Z \
          -notext -out expired.crt
        openssl ca -config ca.cnf -gencrl -out empty.crl
        openssl ca -config ca.cnf -gencrl -crl_lastupdate 20200101000000Z -crl_nextupdate 20200201000000Z \
          -out expired.crl
        openssl ca -config ca.cnf -revoke config/client-ca/client.crt
        openssl ca -config ca.cnf -gencrl -out revoking.crl
        """
}
