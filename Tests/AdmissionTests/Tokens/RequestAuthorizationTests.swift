import AppAttest
import DPoP
import DeviceSimulation
import Foundation
import KeyStore
import KeyStoreTestKit
import Testing

@testable import Admission

@Suite("Forward authentication")
struct RequestAuthorizationTests {
    private func question(
        _ bench: TokenBench, _ token: String, methods: Set<String>? = nil, route: String? = nil, nonce: String? = nil,
        from client: String = "192.0.2.1", at moment: Moment = start
    ) throws -> RequestAuthorization.Question {
        let url = "https://api.example/v1?x=y"
        let request = try OriginalRequest(path: "", ownMethod: "GET") { name in
            ["x-original-method": ["PUT"], "x-original-url": [url]][name] ?? []
        }
        return RequestAuthorization.Question(
            request: request, authorization: ["Bearer \(token)"],
            proofs: [try bench.proof("PUT", url, nonce: nonce, at: moment)], address: address(client),
            methods: methods, route: route, moment: moment)
    }

    private static let kinds = [AppAttestMethod.blockListKind, AccessTokenMethod.accountBlockListKind]

    private func authorization(
        _ bench: TokenBench, blocking list: String = "", admits: Set<String> = ["token", "dev"]
    ) throws -> RequestAuthorization {
        RequestAuthorization(
            bench.settings, blockList: try BlockList(list, kinds: Self.kinds), admits: admits)
    }

    private func developer(_ bench: inout TokenBench) async throws -> String {
        let request = try bench.request { members in
            members["attestation"] = nil
            members["nonce"] = nil
            members["dev_token"] = "\"pdt_good\""
        }
        return try #require(await bench.issuer().issue(request).token).text
    }

    private func code(_ outcome: Result<VerifiedResourceRequest, RefusedRequest>) -> RefusalCode? {
        guard case .failure(let refused) = outcome else { return nil }
        return refused.refusal.code
    }

    @Test func `names the attested device and its app`() async throws {
        var bench = try TokenBench()
        let token = try #require(await bench.issuer().issue(bench.request()).token).text
        let verified = try authorization(bench).decide(question(bench, token)).get()
        let fields = Dictionary(uniqueKeysWithValues: verified.identityFields.map { ($0.name, $0.value) })
        #expect(fields["X-Portcullis-Subject"] == Data(bench.device.keyID).base64EncodedString())
        #expect(fields["X-Portcullis-App"] == "\(bench.device.app)" && fields["X-Portcullis-Mode"] == "production")
        #expect(fields["X-Portcullis-Method"] == "app_attest" && fields["X-Portcullis-Dev-Token"] == nil)
        #expect(fields["X-Portcullis-Expires"] == "\(start.unixMilliseconds / 1_000 + 300)")
    }

    @Test func `admits development tokens only where the settings and the location do`() async throws {
        var bench = try TokenBench()
        bench.settings.development = OneDevelopmentToken()
        let token = try await developer(&bench)
        func code(_ admits: Set<String>, _ methods: Set<String>?) throws -> RefusalCode? {
            self.code(try authorization(bench, admits: admits).decide(question(bench, token, methods: methods)))
        }
        #expect(try code(["token", "dev"], nil) == nil)
        #expect(try code(["token", "dev"], ["dev"]) == nil)
        #expect(try code(["token", "dev"], ["token"]) == .invalidToken)
        #expect(try code(["token"], nil) == .invalidToken)
        #expect(try code(["token"], ["token", "dev"]) == .invalidToken)
        #expect(try code(["token", "dev"], []) == .invalidToken)
    }

    @Test func `admits a development token with routes only for these`() async throws {
        var bench = try TokenBench()
        let grant = DevelopmentGrant(id: "ci", name: "the build server", routes: ["chat", "images"])
        bench.settings.development = OneDevelopmentToken(grant: grant)
        let token = try await developer(&bench)
        for (route, isAdmitted) in [("chat", true), ("images", true), ("audio", false), ("", false), (nil, false)] {
            let outcome = try authorization(bench).decide(question(bench, token, route: route))
            #expect(code(outcome) == (isAdmitted ? nil : .invalidToken), "\(route ?? "none")")
        }
        let fields = try authorization(bench).decide(question(bench, token, route: "chat")).get().identityFields
        #expect(fields.contains { $0 == ("X-Portcullis-Dev-Token", "ci%20the%20build%20server") })
    }

    @Test func `spends no proof of a request that its rules refuse`() async throws {
        var bench = try TokenBench()
        let token = try #require(await bench.issuer().issue(bench.request()).token).text
        let question = try question(bench, token)
        #expect(code(try authorization(bench, admits: ["dev"]).decide(question)) == .invalidToken)
        #expect(code(try authorization(bench).decide(question)) == nil)
        #expect(code(try authorization(bench).decide(question)) == .invalidProof)
    }

    @Test func `refuses blocked addresses, keys, and devices of blocked accounts`() async throws {
        var bench = try TokenBench()
        let token = try #require(await bench.issuer().issue(bench.request()).token).text
        let key = Data(bench.device.keyID).base64EncodedString()
        let account = try #require(AccountID(bytes: [UInt8](repeating: 3, count: AccountID.length)))
        bench.bench.registry.note(account, ofDevice: try #require(KeyID(bytes: bench.device.keyID)))
        for list in ["key \(key)", "account \(account)", "address 192.0.2.0/24"] {
            let outcome = try authorization(bench, blocking: list).decide(question(bench, token))
            #expect(code(outcome) == .deviceBlocked, "\(list)")
        }
        let outcome = try authorization(bench, blocking: "address 192.0.2.2").decide(question(bench, token))
        #expect(code(outcome) == nil)
    }

    @Test func `writes names so that no header field can be broken by them`() {
        #expect(FieldText.escaped("a b%\r\n\u{0}é~") == "a%20b%25%0D%0A%00%C3%A9~")
    }
}
