import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// `portcullis-sim passkey`, which answers the options of any WebAuthn server, with the gateway as one.
    @Suite struct PasskeyCommandTests {
        private let folder: TemporaryDirectory

        init() throws { folder = try TemporaryDirectory() }

        private func run(_ command: String, _ options: String, _ arguments: [String]) async throws -> ChildOutput {
            try await ChildProcess.run(
                Binaries.find("portcullis-sim"),
                ["passkey", command, "--passkey", folder.file("passkey.json")] + arguments, input: options)
        }

        private func options(_ house: PasskeyHouse) async throws -> String {
            let ticket = try await house.ticket()
            return try await house.gateway.post("/api/auth/passkey/register/options?ticket=\(ticket)", "{}").text
        }

        @Test(arguments: [["--format", "none"], ["--format", "self", "--algorithm=-8"], ["--format", "packed"]])
        func `the gateway registers what it makes`(arguments: [String]) async throws {
            let house = try await PasskeyHouse()
            let origin = String(house.address.dropLast())
            let options = try await options(house)
            let made = try await run("make", options, ["--origin", origin] + arguments)
            #expect(made.ending == .exited(0), "\(made)")
            let answer = try await house.gateway.post("/api/auth/passkey/register", made.outputText)
            #expect(answer.status == 200 && answer.field("account")?.utf8.count == 32, "\(answer)")
            // One challenge, one passkey.
            let again = try await house.gateway.post("/api/auth/passkey/register", made.outputText)
            expectRefusal(again, 401, "passkey_rejected")

            let thumbprint = String(repeating: "A", count: 43)
            let asked = try await house.gateway.post(
                "/api/auth/passkey/authenticate/options", #"{"dpop_jkt":"\#(thumbprint)"}"#)
            let used = try await run("get", asked.text, ["--origin", origin])
            #expect(used.ending == .exited(0), "\(used)")
            let credential = try JSONSerialization.jsonObject(with: Data(used.standardOutput)) as? [String: Any]
            let response = try #require(credential?["response"] as? [String: String])
            #expect(Set(response.keys) == ["authenticatorData", "clientDataJSON", "signature", "userHandle"])
            #expect(credential?["id"] as? String == answer.field("passkey"))
        }

        @Test func `a passkey without verification of the user is refused`() async throws {
            let house = try await PasskeyHouse()
            let made = try await run(
                "make", try await options(house), ["--origin", String(house.address.dropLast()), "--unverified"])
            let answer = try await house.gateway.post("/api/auth/passkey/register", made.outputText)
            expectRefusal(answer, 401, "passkey_rejected")
        }

        @Test func `what isn't options, or asks for what the authenticator hasn't, is an error`() async throws {
            let origin = ["--origin", "https://mud.example.org"]
            for options in ["", "{}", "[]", #"{"challenge":"AA","rpId":"mud.example.org"}"#] {
                for command in ["make", "get"] {
                    let output = try await run(command, options, origin)
                    #expect(output.ending == .exited(1) && output.errorText.hasPrefix("portcullis-sim: error: "))
                    #expect(output.outputText.isEmpty)
                }
            }
        }
    }
}
