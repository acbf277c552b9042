import AppAttest
import Crypto
import Foundation

/// A client of the token dialect with a device's two keys: App Attest's, and the one whose possession it proves. Its
/// requests are made as the Gate/AI client library makes them: slashes are escaped, `jti` is an upper-case UUID, there
/// is no `ath`.
package struct TokenClient: Sendable {
    package let device: TestDevice
    package let gateway: GatewayProcess
    package let bundleID: String
    package let teamID: String
    /// Seconds by which its clock is ahead.
    package var clockOffset = 0
    private let key: P256.Signing.PrivateKey
    /// Of the URLs for which it makes proofs.
    package var authority = "localhost"
    /// What it sends as `Host`; nil: the authority.
    package var host: String?
    /// Through which it reaches the gateway; nil: it connects to the gateway.
    package var front: FrontProxy?

    package init(_ apple: SimulatedApple, at gateway: GatewayProcess) throws {
        try self.init(apple, device: apple.device(), at: gateway)
    }

    package init(_ apple: SimulatedApple, device: TestDevice, at gateway: GatewayProcess) {
        self.init(device: device, gateway: gateway, apple: apple, key: P256.Signing.PrivateKey())
    }

    private init(device: TestDevice, gateway: GatewayProcess, apple: SimulatedApple, key: P256.Signing.PrivateKey) {
        (self.device, self.gateway, self.key) = (device, gateway, key)
        (bundleID, teamID) = (apple.app.bundleID, apple.app.teamID)
    }

    private init(_ other: TokenClient, at gateway: GatewayProcess) {
        (device, key, bundleID, teamID) = (other.device, other.key, other.bundleID, other.teamID)
        clockOffset = other.clockOffset
        self.gateway = gateway
    }

    /// The same client with another gateway, or another process of the same one.
    package func moved(to gateway: GatewayProcess) -> TokenClient { TokenClient(self, at: gateway) }

    // MARK: Steps

    package func challenge() async throws -> String {
        let body = #"{"purpose":"token"}"#
        let answer = try await request(
            "POST /attest/challenge HTTP/1.1\r\nHost: \(host ?? authority)\r\nContent-Type: application/json\r\n"
                + "Content-Length: \(body.utf8.count)\r\n\r\n" + body)
        guard answer.status == 200, let nonce = answer.field("nonce") else {
            throw EdgeTestError("no challenge: \(answer)")
        }
        return nonce
    }

    package func register(nonce: String, changing change: (inout [String: String]) -> Void = { _ in }) async throws
        -> ReceivedAnswer
    {
        let attestation = try device.attestation(clientDataHash: clientDataHash(nonce))
        let proof = try proof("POST", url("/attest/register"))
        var members = attestationMembers("attestation", attestation, nonce: nonce, proof: proof)
        change(&members)
        return try await post("/attest/register", members, proof: proof)
    }

    package func assertion(nonce: String) throws -> [UInt8] {
        try device.assertion(clientDataHash: clientDataHash(nonce))
    }

    /// - Parameters:
    ///   - assertion: nil: a new one over the challenge.
    ///   - serverNonce: of `DPoP-Nonce`.
    package func token(
        nonce: String, assertion: [UInt8]? = nil, serverNonce: String? = nil,
        changing change: (inout [String: String]) -> Void = { _ in }
    ) async throws -> ReceivedAnswer {
        let proof = try proof("POST", url("/token"), nonce: serverNonce)
        let assertion = try assertion ?? self.assertion(nonce: nonce)
        var members = attestationMembers("assertion", assertion, nonce: nonce, proof: proof)
        change(&members)
        return try await post("/token", members, proof: proof)
    }

    /// Registers and gets an access token with one challenge, as on a first run.
    package func firstToken() async throws -> String {
        let nonce = try await challenge()
        let registered = try await register(nonce: nonce)
        guard registered.status == 200 else { throw EdgeTestError("not registered: \(registered)") }
        return try Self.accessToken(in: await token(nonce: nonce))
    }

    package static func accessToken(in answer: ReceivedAnswer) throws -> String {
        guard answer.status == 200, let token = answer.field("access_token") else {
            throw EdgeTestError("no token: \(answer)")
        }
        return token
    }

    /// An upgrade with a token and its proof.
    package func handshake(
        _ token: String, scheme: String = "Bearer", path: String = "/", serverNonce: String? = nil,
        claims: [String: String] = [:]
    ) throws -> Handshake {
        try Handshake(host: host ?? authority).path(path).adding("Authorization", "\(scheme) \(token)")
            .adding("DPoP", proof("GET", url(path, scheme: "wss"), nonce: serverNonce, claims: claims))
    }

    // MARK: Parts

    package func url(_ path: String, scheme: String = "https") -> String {
        let scheme = gateway.isTLS || front != nil ? scheme : scheme == "wss" ? "ws" : "http"
        return "\(scheme)://\(authority)\(path)"
    }

    /// - Parameter claims: raw JSON values that are added, or replace others.
    package func proof(
        _ method: String, _ url: String, nonce: String? = nil, claims: [String: String] = [:]
    ) throws -> String {
        var all = [
            "htm": quoted(method), "htu": quoted(url), "iat": "\(Int(Date().timeIntervalSince1970) + clockOffset)",
            "jti": quoted(UUID().uuidString),
        ]
        if let nonce { all["nonce"] = quoted(nonce) }
        all.merge(claims) { $1 }
        let header = json(["alg": quoted("ES256"), "jwk": jwk, "typ": quoted("dpop+jwt")])
        let input = Self.base64URL(Data(header.utf8)) + "." + Self.base64URL(Data(json(all).utf8))
        return input + "." + Self.base64URL(try key.signature(for: Data(input.utf8)).rawRepresentation)
    }

    /// RFC 7638.
    package var thumbprint: String { Self.base64URL(Data(SHA256.hash(data: Data(jwk.utf8)))) }

    /// `ath` of a token, as a raw JSON value.
    package static func hash(of token: String) -> String {
        "\"" + base64URL(Data(SHA256.hash(data: Data(token.utf8)))) + "\""
    }

    /// The claims of an access token, unverified.
    package static func claims(of token: String) throws -> [String: Any] {
        let parts = token.split(separator: ".")
        guard parts.count == 3, let data = bytes(base64URL: String(parts[1])),
            let claims = try JSONSerialization.jsonObject(with: data) as? [String: Any]
        else { throw EdgeTestError("not a JWT") }
        return claims
    }

    private func clientDataHash(_ nonce: String) throws -> [UInt8] {
        guard let bytes = Self.bytes(base64URL: nonce) else { throw EdgeTestError("not base64url: \(nonce)") }
        return Array(SHA256.hash(data: bytes + Data(SHA256.hash(data: Data(jwk.utf8)))))
    }

    /// The members in the order of RFC 7638.
    private var jwk: String {
        let point = key.publicKey.rawRepresentation
        return json([
            "crv": quoted("P-256"), "kty": quoted("EC"), "x": quoted(Self.base64URL(point.prefix(32))),
            "y": quoted(Self.base64URL(point.suffix(32))),
        ])
    }

    private func attestationMembers(
        _ name: String, _ object: [UInt8], nonce: String, proof: String
    ) -> [String: String] {
        let attestation = json([
            "key_id": quoted(device.keyID), "team_id": quoted(teamID), "type": quoted("app_attest"),
            name: quoted(Data(object).base64EncodedString()),
        ])
        return [
            "app": json(["bundle_id": quoted(bundleID)]), "attestation": attestation, "device_key_jwk": jwk,
            "dpop": quoted(proof), "nonce": quoted(nonce), "platform": quoted("ios"),
        ]
    }

    private func post(
        _ path: String, _ members: [String: String], proof: String
    ) async throws -> ReceivedAnswer {
        let body = json(members)
        return try await request(
            "POST \(path) HTTP/1.1\r\nHost: \(host ?? authority)\r\nContent-Type: application/json\r\nDPoP: \(proof)\r\n"
                + "Content-Length: \(body.utf8.count)\r\n\r\n" + body)
    }

    private func request(_ text: String) async throws -> ReceivedAnswer {
        guard let front else { return try await gateway.request(text) }
        let connection = try await front.connect()
        try await connection.send(text)
        return try await connection.answer()
    }

    private func json(_ members: [String: String]) -> String {
        "{" + members.sorted { $0.key < $1.key }.map { "\"\($0.key)\":\($0.value)" }.joined(separator: ",") + "}"
    }

    private func quoted(_ text: String) -> String { "\"" + text.replacing("/", with: "\\/") + "\"" }

    private static func base64URL(_ bytes: some DataProtocol) -> String {
        Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    private static func bytes(base64URL text: String) -> Data? {
        let standard = text.replacing("-", with: "+").replacing("_", with: "/")
        return Data(base64Encoded: standard + String(repeating: "=", count: (4 - standard.count % 4) % 4))
    }
}
