package import DeviceSimulation
import Foundation
import SwiftASN1
import X509

/// A player at an app or a page: an authenticator with a passkey, and a key that proves the possession of tokens. Its
/// requests are written by hand, and it demands nothing of the answers, so that a test can send anything.
package struct Player: Sendable {
    package private(set) var gateway: GatewayProcess
    package var passkey: SimulatedPasskey
    /// In hexadecimal, once there is one.
    package var account: String?
    /// Of the last sign-in.
    package var token: String?
    /// Of the last sign-in or refresh.
    package var refreshToken: String?
    /// Holds the key of the proofs, and makes them.
    package private(set) var holder: TokenClient
    private let vendor: SimulatedVendor

    /// A player who has a passkey, and no account.
    package init(at gateway: GatewayProcess, _ key: SimulatedPasskeyKey = .es256()) throws {
        self.gateway = gateway
        passkey = SimulatedPasskey(key)
        holder = try TokenClient.simulator(at: gateway)
        vendor = try SimulatedVendor(at: Date())
    }

    /// The same player at another gateway, or at another process of the same one.
    package func moved(to gateway: GatewayProcess) -> Player {
        var moved = self
        moved.gateway = gateway
        moved.holder = holder.moved(to: gateway)
        return moved
    }

    /// The same player, whose clock is ahead by so many seconds.
    package func withClock(aheadBy seconds: Int) -> Player {
        var player = self
        player.holder.clockOffset = seconds
        return player
    }

    /// The same passkey on another device, whose key for proofs is another one.
    package func onAnotherDevice() throws -> Player {
        var other = self
        other.holder = try TokenClient.simulator(at: gateway)
        other.token = nil
        return other
    }

    /// The root of the authenticator's vendor, for attestations.
    package var vendorRootPEM: String { get throws { try vendor.root.serializeAsPEM().pemString } }

    /// The identifier of the passkey, as paths and answers have it.
    package var passkeyID: String { PasskeyRequest.base64URL(passkey.credentialID) }

    // MARK: Requests

    /// - Parameters:
    ///   - fields: each with its CRLF.
    ///   - nonce: of the gateway, for the proof of an access token.
    package func request(
        _ method: String, _ path: String, _ body: String = "", showing proof: PlayerProof = .nothing,
        fields: String = "", nonce: String? = nil
    ) async throws -> ReceivedAnswer {
        var (path, fields, tls) = (path, fields, TLSChoice?.none)
        switch proof {
        case .nothing: break
        case .assertion(let device):
            let headers = try device.assertionHeaders(nonce: try await gateway.challenge())
            fields += headers.map { "\($0.key): \($0.value)\r\n" }.joined()
        case .accessToken(let client, let token):
            fields += try client.headers(method, client.url(path), token, nonce: nonce)
        case .certificate(let identity): tls = TLSChoice(identity: identity)
        case .ticket(let ticket): path += "?ticket=" + ticket
        }
        return try await gateway.request(Self.text(method, path, body, fields), tls: tls)
    }

    /// A request as it goes over a connection.
    static func text(_ method: String, _ path: String, _ body: String, _ fields: String) -> String {
        "\(method) \(path) HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            + "Content-Length: \(body.utf8.count)\r\n\(fields)\r\n" + body
    }

    /// The same with the access token of the last sign-in. A demand for a nonce is met, as clients do it.
    package func ask(_ method: String, _ path: String, _ body: String = "") async throws -> ReceivedAnswer {
        guard let token else { throw EdgeTestError("nobody has signed in") }
        let proof = PlayerProof.accessToken(holder, token)
        let answer = try await request(method, path, body, showing: proof)
        guard answer.code == "use_dpop_nonce", let nonce = answer["dpop-nonce"] else { return answer }
        return try await request(method, path, body, showing: proof, nonce: nonce)
    }

    /// The challenge in options, or an error.
    package static func options(_ answer: ReceivedAnswer) throws -> [UInt8] {
        guard answer.status == 200, let text = answer.field("challenge"), let bytes = bytes(base64URL: text) else {
            throw EdgeTestError("no challenge: \(answer)")
        }
        return bytes
    }

    // MARK: Sign-up

    package func creationOptions(
        showing proof: PlayerProof, _ body: String = ""
    ) async throws -> ReceivedAnswer {
        try await request("POST", "/api/auth/passkey/register/options", body, showing: proof)
    }

    /// What `navigator.credentials.create()` returns.
    ///
    /// - Parameter more: members behind the credential's, each with a comma in front.
    package func registration(
        over challenge: [UInt8], from origin: String = Player.origin, _ format: SimulatedPasskey.Format = .none,
        more: String = "", changing change: (inout PasskeyRegistrationPlan) throws -> Void = { _ in }
    ) throws -> String {
        let request = PasskeyRequest(rpID: Self.relyingPartyID, origin: origin, challenge: challenge)
        let made = try passkey.registration(request, format, by: vendor, at: Date(), changing: change)
        return credential(
            ["clientDataJSON": made.clientDataJSON, "attestationObject": made.attestationObject], more: more)
    }

    package func register(_ body: String, showing proof: PlayerProof) async throws -> ReceivedAnswer {
        let path = "/api/auth/passkey/register"
        let answer = try await request("POST", path, body, showing: proof)
        guard answer.code == "use_dpop_nonce", let nonce = answer["dpop-nonce"] else { return answer }
        return try await request("POST", path, body, showing: proof, nonce: nonce)
    }

    /// Makes an account, or fails.
    package mutating func signUp(showing proof: PlayerProof, label: String = "phone") async throws {
        // A ticket admits once: the challenge stands for it.
        let again = if case .ticket = proof { PlayerProof.nothing } else { proof }
        let challenge = try Self.options(await creationOptions(showing: proof))
        let answer = try await register(
            registration(over: challenge, more: #","label":"\#(label)""#), showing: again)
        guard answer.status == 200, let account = answer.field("account"), answer.field("passkey") == passkeyID else {
            throw EdgeTestError("no account: \(answer)")
        }
        self.account = account
    }

    // MARK: Sign-in

    package func requestOptions() async throws -> ReceivedAnswer {
        try await request("POST", "/api/auth/passkey/authenticate/options", #"{"dpop_jkt":"\#(holder.thumbprint)"}"#)
    }

    /// What `navigator.credentials.get()` returns.
    ///
    /// - Parameter userHandle: what the authenticator has kept; nil leaves it out.
    package mutating func authentication(
        over challenge: [UInt8], from origin: String = Player.origin, userHandle: [UInt8]?,
        changing change: (inout PasskeyAuthenticationPlan) throws -> Void = { _ in }
    ) throws -> String {
        let request = PasskeyRequest(rpID: Self.relyingPartyID, origin: origin, challenge: challenge)
        let made = try passkey.authentication(request, changing: change)
        var response = [
            "clientDataJSON": made.clientDataJSON, "authenticatorData": made.authenticatorData,
            "signature": made.signature,
        ]
        response["userHandle"] = userHandle
        return credential(response)
    }

    /// The same with the handle of the player's account.
    package mutating func authentication(
        over challenge: [UInt8], from origin: String = Player.origin,
        changing change: (inout PasskeyAuthenticationPlan) throws -> Void = { _ in }
    ) throws -> String {
        try authentication(
            over: challenge, from: origin, userHandle: account.flatMap(Hex.decode) ?? [UInt8](repeating: 7, count: 16),
            changing: change)
    }

    /// - Parameter proof: nil: a new one by the player's key.
    package func authenticate(
        _ body: String, proof: String? = nil, nonce: String? = nil
    ) async throws -> ReceivedAnswer {
        let path = "/api/auth/passkey/authenticate"
        let proof = try proof ?? holder.proof("POST", holder.url(path), nonce: nonce)
        return try await request("POST", path, body, fields: "DPoP: \(proof)\r\n")
    }

    /// Signs in with new options, whatever comes of it. A demand for a nonce is met.
    package mutating func trySignIn() async throws -> ReceivedAnswer {
        let answer = try await authenticate(freshPasskey())
        guard answer.code == "use_dpop_nonce", let nonce = answer["dpop-nonce"] else { return answer }
        return try await authenticate(freshPasskey(), nonce: nonce)
    }

    /// Signs in, or fails.
    package mutating func signIn() async throws {
        let answer = try await trySignIn()
        try keep(answer)
    }

    /// The pair of tokens of an answer, which must have one.
    package mutating func keep(_ answer: ReceivedAnswer) throws {
        guard answer.status == 200, let token = answer.field("accessToken"), let next = answer.field("refreshToken")
        else { throw EdgeTestError("not signed in: \(answer)") }
        (self.token, refreshToken) = (token, next)
    }

    private func credential(_ response: [String: [UInt8]], more: String = "") -> String {
        let sorted = response.sorted { $0.key < $1.key }
        let members = sorted.map { #""\#($0.key)":"\#(PasskeyRequest.base64URL($0.value))""# }
        return #"{"id":"\#(passkeyID)","rawId":"\#(passkeyID)","type":"public-key","#
            + #""clientExtensionResults":{},"response":{\#(members.joined(separator: ","))}\#(more)}"#
    }
}
