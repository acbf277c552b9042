/// An authority and its empty revocation list as OpenSSL 3 wrote them, so that the reader is also tested with input
/// that this project didn't write.
enum OpenSSLSamples {
    /// O = Example, CN = OpenSSL CA; P-256
    static let authority = """
        -----BEGIN CERTIFICATE-----
        MIIBozCCAUmgAwIBAgIUDlXsgLgCADza+GuY1qxRW33yBaMwCgYIKoZIzj0EAwIw
        JzEQMA4GA1UECgwHRXhhbXBsZTETMBEGA1UEAwwKT3BlblNTTCBDQTAeFw0yNjEx
        MjExMDQxMDVaFw0zNjExMTgxMDQxMDVaMCcxEDAOBgNVBAoMB0V4YW1wbGUxEzAR
        BgNVBAMMCk9wZW5TU0wgQ0EwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAARf5SEg
        Jz7mgZgOIHF4OhnHz6PJYvfVGe0V8duE4pDy4xl/t9+ZRdSLwNCWVn4EEmLF2dCT
        9EdDSQPCMxI+rhaeo1MwUTAdBgNVHQ4EFgQU+HzFs5a7rZ60RzTKNJKCgT7IZtUw
        HwYDVR0jBBgwFoAU+HzFs5a7rZ60RzTKNJKCgT7IZtUwDwYDVR0TAQH/BAUwAwEB
        /zAKBggqhkjOPQQDAgNIADBFAiAlddXYxIyiK5Jk/8LNPVJ/FlBMNoTwKTE9vXVb
        eV5I3AIhAKI8Pf/CxUnGRlBoot/qza/sjRCfGgQQ6OIL5xcEgouJ
        -----END CERTIFICATE-----

        """

    /// From 2026-11-21 10:41:05 to 2026-12-21 10:41:05.
    static let revocationList = """
        -----BEGIN X509 CRL-----
        MIG+MGYCAQEwCgYIKoZIzj0EAwIwJzEQMA4GA1UECgwHRXhhbXBsZTETMBEGA1UE
        AwwKT3BlblNTTCBDQRcNMjYxMTIxMTA0MTA1WhcNMjYxMjIxMTA0MTA1WqAOMAww
        CgYDVR0UBAMCAQEwCgYIKoZIzj0EAwIDSAAwRQIhAIInbLpRPYFKww8Kk5rwOcyy
        LtqZ0DdMcNc4KWylfN7kAiAK0LYJBHs65J3BGi4r8DeK8oqDJvQSfOUWmFvtMBoh
        9w==
        -----END X509 CRL-----

        """
}
