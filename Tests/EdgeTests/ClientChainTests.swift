import EdgeTestKit
import Testing

extension EdgeTests {
    /// The limits on a client's certificates, which apply before verification.
    @Suite struct ClientChainTests {
        /// A CA, chains under it, and one chain above each limit; made once.
        private struct Chains {
            let directory: TemporaryDirectory

            static let making = Task { try await Chains() }

            private init() async throws {
                directory = try TemporaryDirectory()
                try await ChildProcess.check("bash", ["-euc", Self.script], directory: directory.path)
            }

            /// `sign NAME ISSUER KEYOPTIONS [SUBJECT]` makes NAME.key and NAME.crt; an intermediate is a CA.
            private static let script = """
                ca='basicConstraints=critical,CA:true'
                openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -subj /CN=root -keyout root.key -out root.crt
                openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -subj /CN=nobody -keyout nobody.key -out nobody.crt
                sign() {
                    openssl req -newkey $3 -nodes -subj "${4:-/CN=$1}" -keyout $1.key -out $1.csr
                    openssl x509 -req -days 30 -in $1.csr -CA $2.crt -CAkey $2.key -CAcreateserial -out $1.crt \\
                        -extfile <(case $1 in i*|n*) echo "$ca" ;; large) echo "nsComment=$(printf '%04100d' 0)" ;; *) echo 'basicConstraints=CA:false' ;; esac)
                }
                p256='ec -pkeyopt ec_paramgen_curve:P-256'
                sign i1 root "$p256"; sign i2 i1 "$p256"; sign i3 i2 "$p256"
                sign three i2 "$p256"; cat i2.crt i1.crt >three.chain
                sign four i3 "$p256"; cat i3.crt i2.crt i1.crt >four.chain
                sign n1 nobody "$p256"; sign stranger n1 "$p256"; cat n1.crt >stranger.chain
                sign p384 root 'ec -pkeyopt ec_paramgen_curve:P-384'
                sign ed25519 root ed25519
                sign rsa2048 root rsa:2048
                sign rsa1024 root rsa:1024
                sign p521 root 'ec -pkeyopt ec_paramgen_curve:P-521'
                sign brainpool root 'ec -pkeyopt ec_paramgen_curve:brainpoolP512r1'
                sign explicit root 'ec -pkeyopt ec_paramgen_curve:P-256 -pkeyopt ec_param_enc:explicit'
                parts=$(printf '/OU=%s' $(seq 16)); sign names17 root "$p256" "$parts/CN=names17"
                parts=$(printf '/OU=%s' $(seq 15)); sign names16 root "$p256" "$parts/CN=names16"
                sign large root "$p256"
                for file in *.crt; do [ -e "${file%.crt}.chain" ] || cp root.crt "${file%.crt}.chain"; done
                """

            func identity(_ name: String) -> DevCertificates.Identity {
                .init(certificate: directory.file(name + ".crt"), key: directory.file(name + ".key"))
            }
        }

        @Test(arguments: ["three", "p384", "ed25519", "rsa2048", "names16"], ["-tls1_2", "-tls1_3"])
        func `a chain within every limit is admitted`(name: String, version: String) async throws {
            let (edge, chains) = try await start()
            let output = try await upgrade(edge, as: chains.identity(name), [version])
            #expect(output.contains(" 101 "), "\(output)")
        }

        @Test(
            arguments: ["four", "rsa1024", "names17", "large"], ["-tls1_2", "-tls1_3"])
        func `a chain above a limit ends the handshake`(name: String, version: String) async throws {
            let (edge, chains) = try await start()
            let output = try await upgrade(edge, as: chains.identity(name), [version])
            #expect(!output.contains("HTTP/1.1"), "\(output)")
            try await edge.expectHealthy()
        }

        /// With TLS 1.3 a client doesn't send a certificate if the server offers no signature algorithm for its key.
        @Test(arguments: ["p521", "brainpool", "explicit"], ["-tls1_2", "-tls1_3"])
        func `a key that is expensive to verify is refused`(name: String, version: String) async throws {
            let (edge, chains) = try await start()
            let output = try await upgrade(edge, as: chains.identity(name), [version])
            #expect(!output.contains(" 101 "), "\(output)")
            try await edge.expectHealthy()
        }

        /// It isn't verified, and the client gets an HTTP refusal.
        @Test func `a chain without a trusted root is refused by the gate`() async throws {
            let (edge, chains) = try await start()
            let output = try await upgrade(edge, as: chains.identity("stranger"), [])
            #expect(output.contains(" 401 ") && output.contains("invalid_client_certificate"), "\(output)")
        }

        private func start() async throws -> (Edge, Chains) {
            let certificates = try await DevCertificates.shared()
            let chains = try await Chains.making.value
            let edge = try await Edge.start {
                $0.tls(certificates).setting("REQUIRE_APP_AUTH", "true")
                    .setting("MTLS_CLIENT_CA_PATH", chains.directory.file("root.crt"))
            }
            return (edge, chains)
        }

        /// Tries to upgrade with s_client, and returns its output once it has the head of the answer or the connection
        /// has ended.
        private func upgrade(
            _ edge: Edge, as identity: DevCertificates.Identity, _ options: [String]
        ) async throws -> String {
            let arguments =
                [
                    "s_client", "-connect", "127.0.0.1:\(edge.gateway.port)", "-servername", "localhost", "-quiet",
                    "-cert",
                    identity.certificate, "-key", identity.key, "-cert_chain",
                    identity.certificate.dropLast(3) + "chain", "-cipher",
                    "DEFAULT:@SECLEVEL=0",
                ] + options
            let program = try ChildProcess(ChildProcess.executable("openssl"), arguments)
            try program.write(Handshake().text)
            try await program.output.wait(for: "an answer or the end") {
                $0.outputText.contains("\r\n\r\n") || $0.ending != nil ? true : nil
            }
            program.signal(9)
            // Its end may be known before its last output.
            return try await program.ended().outputText
        }
    }
}
