import AppAttest
import FoundationEssentials

/// The public keys of a simulated authority and of one of its devices. The private keys were discarded. What they
/// signed is in the corpus.
enum AttestSample {
    static let time = Date(timeIntervalSince1970: 1_777_593_600)
    static let clientDataHash = [UInt8](repeating: 0xC5, count: 32)
    static let app: AppID = {
        guard let app = AppID("A1B2C3D4E5.com.example.game") else { fatalError("it is an App ID") }
        return app
    }()
    /// The client data hash of the assertion in the corpus.
    static let counter: UInt32 = 1
    static let publicKeyX963 = bytes(
        "BD0+3dQnf4SBf8jbXsI3F3XM2ErjnzGXfjvVvnaFiBNWWmLxK+11lKNYd+0dPTACZ4+ArcesZTflpbzQcas2AP8=")
    static let keyID = bytes("Qata45F7zJKwWd8No2qeQ7flYyZDgFnbl4RpXtx2Ves=")
    /// SHA-256 of the leaf's DER.
    static let leafHash = bytes("qavs1Y0nDiK3HgzOG6+0RDmPM8hbBKbpRRriz/7+vPA=")

    static let root: TrustRoot = {
        let pem = "-----BEGIN CERTIFICATE-----\n\(rootDER)\n-----END CERTIFICATE-----\n"
        guard let root = try? TrustRoot(pem: pem) else { fatalError("it is a certificate") }
        return root
    }()
    static let verifier = AttestationVerifier(
        trustRoot: root, policy: AttestationPolicy(apps: [app], environments: [.production], validationCategories: nil))

    private static let rootDER = """
        MIICIjCCAaegAwIBAgIVAPeleDsb0luRMBVQJTohS+HH5m2pMAoGCCqGSM49BAMD
        MF4xKjAoBgNVBAMMIVNpbXVsYXRlZCBBcHAgQXR0ZXN0YXRpb24gUm9vdCBDQTEe
        MBwGA1UECgwVUG9ydGN1bGxpcyBTaW11bGF0aW9uMRAwDgYDVQQIDAdOb3doZXJl
        MCAXDTI2MDQzMDAwMDAwMFoYDzIwNTEwNDI1MDAwMDAwWjBeMSowKAYDVQQDDCFT
        aW11bGF0ZWQgQXBwIEF0dGVzdGF0aW9uIFJvb3QgQ0ExHjAcBgNVBAoMFVBvcnRj
        dWxsaXMgU2ltdWxhdGlvbjEQMA4GA1UECAwHTm93aGVyZTB2MBAGByqGSM49AgEG
        BSuBBAAiA2IABFdHbqCQkZ0wjerl7aD2TQm+myw1tfCYivqqqzp7mFRnXWe6MyD6
        0WQEapmYBcORVCgspHlcqOrn2H+LFnqmGlaQI/JSEGrMOeXSUkMCy8sew8SCMxCm
        JGi5Gx01nwvs2aMjMCEwDwYDVR0TAQH/BAUwAwEB/zAOBgNVHQ8BAf8EBAMCAQYw
        CgYIKoZIzj0EAwMDaQAwZgIxAK5ZiSoE1ZTG7G53xygvle/hKaldTgor79+OXLgf
        BfcC3EEe/z8OyaW2bQ9/YKik0QIxAIKYxoVofo0lC7cXhaaL909yPJW7ToRykLXt
        u1H0HVDJx+SdWb5wDYD7afUIa4FRKQ==
        """

    private static func bytes(_ base64: String) -> [UInt8] { Data(base64Encoded: base64).map { [UInt8]($0) } ?? [] }
}
