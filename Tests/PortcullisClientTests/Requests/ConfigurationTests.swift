import Foundation
import Testing

@testable import PortcullisClient

@Suite("The configuration")
struct ConfigurationTests {
    private func make(
        _ url: String = "https://yourteam.example", team: String = "ABCDE12345", bundle: String? = "com.example.app",
        token: String? = nil
    ) throws(GateError) -> GateConfiguration {
        try GateConfiguration(
            baseURLString: url, teamIdentifier: team, bundleIdentifier: bundle, developmentToken: token, logLevel: .info
        )
    }

    @Test func `the seeds' two initialisers make the same`() throws {
        let one = try make()
        let url = try #require(URL(string: "https://yourteam.example"))
        let other = try GateConfiguration(
            baseURL: url, bundleIdentifier: "com.example.app", teamIdentifier: "ABCDE12345", logLevel: .info)
        #expect(one.baseURL == other.baseURL && one.bundleIdentifier == other.bundleIdentifier)
        #expect(one.teamIdentifier == other.teamIdentifier && one.logLevel == .info)
    }

    @Test(arguments: ["", "ABCDE1234", "ABCDE123456", "ABCDE-2345", "ABCDE1234é", "ABCDE1234 "])
    func `a team has exactly 10 letters and digits`(team: String) {
        #expect(throws: GateError.configuration(.invalidTeamIdentifier)) { try make(team: team) }
    }

    @Test func `a bundle identifier is needed, and the main bundle has none here`() {
        #expect(throws: GateError.configuration(.missingBundleIdentifier)) { try make(bundle: nil) }
        for bundle in ["", "com example", "com/example", String(repeating: "a", count: 156)] {
            #expect(throws: GateError.configuration(.invalidBundleIdentifier)) { try make(bundle: bundle) }
        }
    }

    @Test func `the URL has to be secure`() {
        #expect(throws: GateError.configuration(.invalidURL)) { try make("http://yourteam.example") }
        #expect(throws: GateError.configuration(.invalidURL)) { try make("not a URL") }
    }

    @Test func `a development token comes from the parameter, else from the environment`() throws {
        let environment = ["PORTCULLIS_DEV_TOKEN": "one", "GATE_AI_DEV_TOKEN": "two"]
        #expect(try DevelopmentToken.checked("zero", environment: environment) == "zero")
        #expect(try DevelopmentToken.checked(nil, environment: environment) == "one")
        #expect(
            try DevelopmentToken.checked(nil, environment: ["PORTCULLIS_DEV_TOKEN": "", "GATE_AI_DEV_TOKEN": "two"])
                == "two")
        #expect(try DevelopmentToken.checked(nil, environment: [:]) == nil)
        for wrong in ["", "a b", "a\nb", "é", String(repeating: "t", count: 4_097)] {
            #expect(throws: ConfigurationProblem.invalidDevelopmentToken) {
                try DevelopmentToken.checked(wrong, environment: [:])
            }
        }
        #expect(try DevelopmentToken.checked(String(repeating: "t", count: 4_096), environment: [:]) != nil)
    }

    @Test func `what is printed has no secrets`() throws {
        var configuration = try make(token: "the-token-of-a-developer")
        configuration.sharedSecret = "the-secret-of-all"
        let options = ConnectionOptions(.ticket("the-ticket-of-a-player"))
        var text = "\(configuration) \(String(reflecting: configuration)) \(options) \(String(reflecting: options))"
        dump(configuration, to: &text)
        dump(options, to: &text)
        #expect(text.contains("https://yourteam.example for ABCDE12345.com.example.app") && text.contains("ticket"))
        for secret in ["the-token", "the-secret", "the-ticket"] { #expect(!text.contains(secret)) }
    }

    @Test func `methods, header fields and pins are checked`() throws {
        for wrong in ["", "get", "GET ", "GET\r\nX", String(repeating: "A", count: 33)] {
            #expect(HTTPMethod(rawValue: wrong) == nil)
        }
        #expect(HTTPMethod(rawValue: "PROPFIND")?.rawValue == "PROPFIND" && HTTPMethod(rawValue: "GET") == .get)
        for (name, value) in [
            ("Authorization", "x"), ("dpop", "x"), ("HOST", "x"), ("X-AppAttest-KeyId", "x"), ("a b", "x"), ("a:", "x"),
            ("", "x"), ("X", "a\r\nY: z"), ("X", "a\u{0}"), ("X", String(repeating: "a", count: 8_193)),
        ] {
            #expect(throws: ConfigurationProblem.invalidHeader, "\(name)") { try AppHeaders.checked([name: value]) }
        }
        _ = try AppHeaders.checked(["Content-Type": "application/json", "X-Client_Locale": "de\tDE é"])
        let pin = String(repeating: "A", count: 43) + "="
        _ = try ServerPin(pin)
        _ = try ServerPin("sha256/" + pin)
        for wrong in ["", "sha256/", "AAAA", pin + "A", "sha1/" + pin] {
            #expect(throws: GateError.configuration(.invalidPin)) { try ServerPin(wrong) }
        }
    }
}

@Suite("Stores of secrets")
struct SecretStoreTests {
    @Test func `memory and files keep, replace and delete values, and know which aren't there`() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("portcullis-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let stores: [any SecretStore] = [MemorySecretStore(), try FileSecretStore(folder: folder)]
        for store in stores {
            let name = "../a name / with é"
            #expect(try store.read(name) == nil)
            try store.delete(name)
            for value in [Data("one".utf8), Data()] {
                try store.write(name, value)
                #expect(try store.read(name) == value && store.read("other") == nil)
            }
            try store.delete(name)
            #expect(try store.read(name) == nil)
        }
    }

    @Test func `a file is its owner's alone, and the next start reads it`() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("portcullis-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        try FileSecretStore(folder: folder).write("key", Data([1]))
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        #expect(files.count == 1)
        let attributes = try FileManager.default.attributesOfItem(atPath: folder.appendingPathComponent(files[0]).path)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        #expect(try FileSecretStore(folder: folder).read("key") == Data([1]))
    }
}
