import DeviceSimulation
import EdgeTestKit
import Foundation

/// A player who has signed in with a passkey, and keeps the pair of tokens of each answer.
struct RefreshPlayer {
    private(set) var client: TokenClient
    private(set) var gateway: GatewayProcess
    private var passkey = SimulatedPasskey(.es256())
    private(set) var account = ""
    private(set) var accessToken = ""
    private(set) var refreshToken = ""

    /// For the gateway's settings.
    static func settings(_ base: GatewaySettings, _ apple: SimulatedApple) -> GatewaySettings {
        base.appAttest(apple).setting("PUBLIC_ORIGIN", "http://localhost").setting("PASSKEY_RP_ID", "localhost")
            .setting("FAILED_UPGRADES_PER_MINUTE", 100_000)
    }

    /// Makes an account with the access token of an attested device, and signs in.
    init(_ apple: SimulatedApple, at gateway: GatewayProcess) async throws {
        (client, self.gateway) = (try TokenClient(apple, at: gateway), gateway)
        let token = try await client.firstToken()
        let options = "/api/auth/passkey/register/options"
        let challenge = try Self.challenge(
            await post(options, "", client.headers("POST", client.url(options), token)))
        let register = "/api/auth/passkey/register"
        let made = try passkey.registration(
            PasskeyRequest(rpID: "localhost", origin: "http://localhost", challenge: challenge), .none,
            by: SimulatedVendor(at: Date()), at: Date())
        let body = credential(["clientDataJSON": made.clientDataJSON, "attestationObject": made.attestationObject])
        let answer = try await post(register, body, client.headers("POST", client.url(register), token))
        guard let account = answer.field("account") else { throw EdgeTestError("no account: \(answer)") }
        self.account = account
        try await signIn()
    }

    mutating func signIn() async throws {
        let challenge = try Self.challenge(
            await post("/api/auth/passkey/authenticate/options", #"{"dpop_jkt":"\#(client.thumbprint)"}"#))
        let made = try passkey.authentication(
            PasskeyRequest(rpID: "localhost", origin: "http://localhost", challenge: challenge))
        let body = credential([
            "clientDataJSON": made.clientDataJSON, "authenticatorData": made.authenticatorData,
            "signature": made.signature, "userHandle": Hex.decode(account) ?? [],
        ])
        try keep(try await prove("/api/auth/passkey/authenticate", body))
    }

    mutating func move(to gateway: GatewayProcess) {
        (self.gateway, client) = (gateway, client.moved(to: gateway))
    }

    /// - Parameter token: nil: the last one.
    func tryRefresh(_ token: String? = nil, by other: TokenClient? = nil) async throws -> ReceivedAnswer {
        let body = #"{"refreshToken":"\#(token ?? refreshToken)"}"#
        return try await prove("/api/auth/token/validate", body, by: other)
    }

    mutating func refresh() async throws { try keep(try await tryRefresh()) }

    func logOut(_ body: String = "") async throws -> ReceivedAnswer {
        let path = "/api/auth/logout"
        return try await post(path, body, client.headers("POST", client.url(path), accessToken))
    }

    func open() async throws -> TestWebSocket {
        let proof = ["ath": TokenClient.hash(of: accessToken)]
        return try await gateway.open(client.handshake(accessToken, scheme: "DPoP", claims: proof))
    }

    private mutating func keep(_ answer: ReceivedAnswer) throws {
        guard answer.status == 200, let access = answer.field("accessToken"), let next = answer.field("refreshToken")
        else { throw EdgeTestError("no tokens: \(answer)") }
        (accessToken, refreshToken) = (access, next)
    }

    private func prove(_ path: String, _ body: String, by other: TokenClient? = nil) async throws -> ReceivedAnswer {
        let prover = other ?? client
        return try await post(path, body, "DPoP: \(prover.proof("POST", prover.url(path)))\r\n")
    }

    private func post(_ path: String, _ body: String, _ fields: String = "") async throws -> ReceivedAnswer {
        try await gateway.request(
            "POST \(path) HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                + "Content-Length: \(body.utf8.count)\r\n\(fields)\r\n" + body)
    }

    private static func challenge(_ answer: ReceivedAnswer) throws -> [UInt8] {
        let standard = (answer.field("challenge") ?? "").replacing("-", with: "+").replacing("_", with: "/")
        let padding = String(repeating: "=", count: (4 - standard.count % 4) % 4)
        guard answer.status == 200, let bytes = Data(base64Encoded: standard + padding), !bytes.isEmpty else {
            throw EdgeTestError("no challenge: \(answer)")
        }
        return [UInt8](bytes)
    }

    private func credential(_ response: [String: [UInt8]]) -> String {
        let members = response.sorted { $0.key < $1.key }
            .map { #""\#($0.key)":"\#(PasskeyRequest.base64URL($0.value))""# }
        let id = PasskeyRequest.base64URL(passkey.credentialID)
        return #"{"id":"\#(id)","type":"public-key","response":{\#(members.joined(separator: ","))}}"#
    }
}
