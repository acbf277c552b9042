import AppAttest
import Crypto
import DPoP
import DeviceSimulation
import Foundation
import KeyStore
import KeyStoreTestKit
import Testing
import WireText

@testable import Admission

/// An issuer of access tokens with its dependencies, and a client with both of its keys.
struct TokenBench {
    static let issuer = "https://gate.example"

    let bench: Bench
    var device: SimulatedDevice
    var settings: TokenSettings
    /// The device key.
    var clientKey = P256.Signing.PrivateKey()
    /// Seconds by which the client's clock is ahead.
    var clockOffset: Int64 = 0

    init(maximumProofs: Int = MemoryReplayStore.defaultMaximum, maximumSpent: Int = 1_000) throws {
        bench = try Bench(maximumSpent: maximumSpent)
        device = try bench.registeredDevice()
        let schedule = try #require(SigningKeySchedule(tokenLifetime: 300))
        let stored = try SigningKeyRotation(MemorySigningKeyStore(), schedule: schedule).keepUp(at: start.date)
        let secret = [UInt8](repeating: 9, count: TokenKeys.nonceSecretBytes)
        settings = TokenSettings(
            issuer: Self.issuer, audience: Self.issuer,
            keys: try #require(TokenKeys(stored, schedule: schedule, nonceSecret: secret)),
            replays: ProofReplays(maximum: maximumProofs),
            devices: bench.appAttest(over: bench.registry))
        settings.origins = .certificate(ServerNames(dnsNames: ["gate.example"]), at: ListeningPort(6200))
    }

    func issuer(over registry: (any KeyRegistry)? = nil, limits: EndpointLimits = EndpointLimits()) -> TokenIssuer {
        TokenIssuer(settings, registry: registry ?? bench.registry, limits: limits, maximumBodyBytes: 65_536)
    }

    func registrar() throws -> Registrar {
        Registrar(
            settings: try #require(settings.devices), registry: bench.registry,
            verifier: AttestationVerifier(trustRoot: bench.trustRoot, policy: bench.policy),
            limits: EndpointLimits(), tokens: settings)
    }

    /// The gateway ends without a word, and begins anew with what is on its disk.
    mutating func restart(at moment: Moment) {
        settings.replays = ProofReplays(followingAt: moment)
        settings.devices?.challenges = Challenges(epoch: epoch)
    }

    func challenge(at moment: Moment = start) -> String {
        (settings.devices?.challenges ?? bench.challenges).issueForToken(at: moment).nonce
    }

    mutating func assertion(over nonce: String) throws -> [UInt8] {
        let bytes = try #require(Base64URL.decode(nonce))
        return try device.assert(clientDataHash: sha256(bytes + sha256(Array(jwk.utf8))))
    }

    /// A request for a token, changed by `change`.
    mutating func request(
        nonce: String? = nil, assertion: [UInt8]? = nil, serverNonce: String? = nil, at moment: Moment = start,
        changing change: (inout [String: String]) -> Void = { _ in }
    ) throws -> TokenRequest {
        let nonce = nonce ?? challenge(at: moment)
        let object = try assertion ?? self.assertion(over: nonce)
        let proof = try proof("POST", Self.issuer + "/token", nonce: serverNonce, at: moment)
        return tokenRequest("/token", nonce, ["assertion": object], proof, at: moment, changing: change)
    }

    /// A registration of the device, changed by `change`.
    func registration(
        nonce: String? = nil, attestation: [UInt8]? = nil, at moment: Moment = start,
        changing change: (inout [String: String]) -> Void = { _ in }
    ) throws -> TokenRequest {
        let nonce = nonce ?? challenge(at: moment)
        let object = try attestation ?? self.attestation(over: nonce)
        let proof = try proof("POST", Self.issuer + "/attest/register", at: moment)
        return tokenRequest("/attest/register", nonce, ["attestation": object], proof, at: moment, changing: change)
    }

    func attestation(over nonce: String) throws -> [UInt8] {
        let bytes = try #require(Base64URL.decode(nonce))
        return try device.attest(
            clientDataHash: sha256(bytes + sha256(Array(jwk.utf8))), by: Bench.authority.get(), at: start.date)
    }

    private func tokenRequest(
        _ path: String, _ nonce: String, _ objects: [String: [UInt8]], _ proof: String, at moment: Moment,
        changing change: (inout [String: String]) -> Void
    ) -> TokenRequest {
        var evidence = objects.mapValues { "\"\(Data($0).base64EncodedString())\"" }
        evidence["type"] = "\"app_attest\""
        evidence["key_id"] = "\"\(Data(device.keyID).base64EncodedString())\""
        evidence["team_id"] = "\"ABCDE12345\""
        var members = [
            "app": #"{"bundle_id":"org.example.mud"}"#, "device_key_jwk": jwk, "nonce": "\"\(nonce)\"",
            "attestation": json(evidence), "dpop": "\"\(proof)\"", "platform": "\"ios\"",
        ]
        change(&members)
        return TokenRequest(
            body: Array(json(members).utf8), proofs: [proof], method: "POST", url: Self.issuer + path,
            address: address("192.0.2.1"), moment: moment)
    }

    func resource(
        _ token: String, scheme: String = "Bearer", nonce: String? = nil, at moment: Moment = start
    ) throws -> ResourceRequest {
        ResourceRequest(
            method: "GET", url: Self.issuer + "/x", authorization: ["\(scheme) \(token)"],
            proofs: [try proof("GET", Self.issuer + "/x", nonce: nonce, at: moment)], moment: moment)
    }

    func proof(_ method: String, _ url: String, nonce: String? = nil, at moment: Moment = start) throws -> String {
        var claims = [
            "htm": "\"\(method)\"", "htu": "\"\(url)\"", "iat": "\(moment.unixMilliseconds / 1_000 + clockOffset)",
            "jti": "\"\(UUID().uuidString)\"",
        ]
        claims["nonce"] = nonce.map { "\"\($0)\"" }
        let header = json(["typ": "\"dpop+jwt\"", "alg": "\"ES256\"", "jwk": jwk])
        let input = Base64URL.encode(header.utf8) + "." + Base64URL.encode(json(claims).utf8)
        let signature = try clientKey.signature(for: Data(input.utf8))
        return input + "." + Base64URL.encode(signature.rawRepresentation)
    }

    private var jwk: String {
        let point = clientKey.publicKey.rawRepresentation
        let (x, y) = (Base64URL.encode(point.prefix(32)), Base64URL.encode(point.suffix(32)))
        return #"{"crv":"P-256","kty":"EC","x":"\#(x)","y":"\#(y)"}"#
    }

    private func json(_ members: [String: String]) -> String {
        "{" + members.sorted { $0.key < $1.key }.map { "\"\($0.key)\":\($0.value)" }.joined(separator: ",") + "}"
    }
}

extension TokenIssuer {
    func issue(_ request: TokenRequest) async -> TokenOutcome { await issue(request, unless: { _ in nil }) }
}

extension TokenOutcome {
    var token: IssuedToken? {
        guard case .issued(let token) = self else { return nil }
        return token
    }

    var refusal: Refusal? {
        guard case .refused(let refusal) = self else { return nil }
        return refusal
    }
}

/// A registry with one development token.
struct OneDevelopmentToken: DevelopmentTokenRegistry, ImmediateDevelopmentTokenRegistry {
    var grant = DevelopmentGrant(id: "ci", name: "the build server")
    var refusal: DevelopmentTokenRefusal?

    func redeem(_ token: String, by device: [UInt8], at time: Int64) -> GrantStatus {
        if let refusal { return .refused(refusal) }
        return token == "pdt_good" && device.count == 32 ? .granted(grant) : .refused(.unknown)
    }

    func status(ofGrant id: String, at time: Int64) -> GrantStatus {
        if let refusal { return .refused(refusal) }
        return id == grant.id ? .granted(grant) : .refused(.unknown)
    }
}
