import AppAttest
import DeviceSimulation
import Testing

@Suite("App IDs, environments and trust roots")
struct IdentityTests {
    @Test func `an App ID is ten capitals or digits, a dot and a bundle identifier`() throws {
        let app = try #require(AppID("A1B2C3D4E5.com.example-2.Game"))
        #expect(app.teamID == "A1B2C3D4E5")
        #expect(app.bundleID == "com.example-2.Game")
        #expect(app.description == "A1B2C3D4E5.com.example-2.Game")
        #expect(AppID(teamID: "A1B2C3D4E5", bundleID: "com.example-2.Game") == app)
    }

    @Test(arguments: [
        "", ".", "A1B2C3D4E5", "A1B2C3D4E5.", "A1B2C3D4E.com.example", "A1B2C3D4E5F.com.example",
        "a1b2c3d4e5.com.example", "A1B2C3D4Eé.com.example", "A1B2C3D4E5.com example", "A1B2C3D4E5.com.exämple",
        "A1B2C3D4E5.com.example\n", "A1B2C3D4E5.com/example",
    ])
    func `other forms are no App IDs`(text: String) { #expect(AppID(text) == nil) }

    /// Apple's published attestation sample is for such an app.
    @Test func `a bundle identifier may have underscores`() throws {
        let app = try #require(AppID("A1B2C3D4E5.com.example_app_attest"))
        #expect(app.bundleID == "com.example_app_attest")
    }

    @Test func `a bundle identifier may have 255 characters and no more`() {
        let longest = String(repeating: "a", count: AppID.maximumBundleIDLength)
        #expect(AppID(teamID: "A1B2C3D4E5", bundleID: longest) != nil)
        #expect(AppID(teamID: "A1B2C3D4E5", bundleID: longest + "a") == nil)
    }

    @Test func `an environment is told by all 16 bytes of its aaguid`() {
        for environment in AttestationEnvironment.allCases {
            #expect(environment.aaguid.count == 16)
            #expect(AttestationEnvironment(aaguid: environment.aaguid) == environment)
            for bit in 0..<128 { #expect(AttestationEnvironment(aaguid: environment.aaguid.flipping(bit: bit)) == nil) }
        }
        #expect(AttestationEnvironment(aaguid: Array("appattest".utf8)) == nil)
    }

    @Test func `Apple's embedded root has the fingerprint that Apple publishes`() {
        let hex = TrustRoot.apple.fingerprint.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        #expect(hex == "1cb9823ba28ba6ad2d33a006941de2ae4f513ef1d4e831b9f7e0fa7b6242c932")
    }

    @Test func `data that is no CA certificate in PEM is no trust root`() throws {
        #expect(throws: TrustRootError.unreadable) { try TrustRoot(pem: "") }
        let pem = try Simulation().authority.rootPEM
        #expect(throws: TrustRootError.unreadable) { try TrustRoot(pem: String(pem.dropFirst(40))) }
    }
}
