import Accounts
import Crypto
import DPoP
import DeviceSimulation
import Foundation
import KeyStore
import KeyStoreTestKit
import Testing
import WebAuthn
import WireText

@testable import Admission

let start = Moment(
    monotonic: MonotonicTime(nanoseconds: 5_000_000_000_000), unixMilliseconds: 1_790_000_000_000)

extension Moment {
    static func + (moment: Moment, milliseconds: Int) -> Moment {
        Moment(
            monotonic: moment.monotonic.advanced(by: .milliseconds(milliseconds)),
            unixMilliseconds: moment.unixMilliseconds + Int64(milliseconds))
    }
}

/// A client that the gate has authenticated, by what it proves about an account.
struct ShownProof: AdmissionProof {
    let evidence: AccountEvidence

    init(_ evidence: AccountEvidence) { self.evidence = evidence }
    init(from decoder: any Decoder) throws { throw CarriedStateFault() }
    func encode(to encoder: any Encoder) throws {}

    var isLarge: Bool { false }
    var routes: Set<String>? { nil }
    func isRevoked(by revocations: Revocations) -> Bool { false }
    static var expiry: ProofExpiry<ShownProof> { .never }
    func name(for name: MethodName) -> MethodName { name }
    var accountEvidence: AccountEvidence? { evidence }
    var account: AccountID? { if case .account(let id, _, _) = evidence { id } else { nil } }
    var origins: [Identity] { [] }
}

extension Principal {
    /// - Parameter name: tells clients apart.
    static func showing(
        _ evidence: AccountEvidence, as name: String = "client", byTicket isByTicket: Bool = false
    ) -> Principal {
        Principal(
            Identity(method: AppAttestMethod.name, subject: name), proof: ShownProof(evidence),
            ticketChainEnd: isByTicket ? start.monotonic : nil)
    }

    static let newcomer = showing(.device(.sample(1), isFresh: true))
}

extension KeyID {
    static func sample(_ byte: UInt8) -> KeyID {
        guard let id = KeyID(bytes: [UInt8](repeating: byte, count: length)) else { preconditionFailure() }
        return id
    }
}

/// A gateway's accounts with their dependencies, and a player with an authenticator and a key for proofs.
struct AccountBench {
    static let origin = "https://mud.example"

    let store: MemoryAccounts
    var gate: Gate
    var services: AccountServices
    var passkey: SimulatedPasskey
    /// What the authenticator has kept of the options of its registration; nil leaves the member out.
    var userHandle: [UInt8]?
    let proofKey: P256.Signing.PrivateKey
    private let vendor: SimulatedVendor

    init(signUp: SignUpRule = .proven, maximumAccounts: Int = 100, signUpsPerHour: Int = 5) throws {
        let store = MemoryAccounts()
        let schedule = try #require(SigningKeySchedule(tokenLifetime: 900))
        let stored = try SigningKeyRotation(MemorySigningKeyStore(), schedule: schedule).keepUp(at: start.date)
        let keys = try #require(
            TokenKeys(
                stored, schedule: schedule, nonceSecret: [UInt8](repeating: 9, count: TokenKeys.nonceSecretBytes)))
        var tokens = TokenSettings(
            issuer: Self.origin, audience: nil, keys: keys, replays: ProofReplays(), devices: nil)
        tokens.origins = .setting(Self.origin)
        tokens.accounts = AccountSettings(registry: .immediate(store), store: store, certificates: nil)
        let services = AccountServices(
            name: "The MUD", relyingParty: RelyingParty(id: "mud.example", origins: [Self.origin]),
            policy: RegistrationPolicy(), signUp: signUp, maximumAccounts: maximumAccounts, maximumBodyBytes: 65_536,
            tokens: tokens, store: store, keys: MemoryKeyRegistry(),
            challenges: PasskeyChallenges(epoch: MonotonicTime(nanoseconds: 1_000)), limits: EndpointLimits(),
            signUps: SignUpLimits(perHour: signUpsPerHour))
        try self.init(services: services, store: store, passkey: SimulatedPasskey(.es256()))
    }

    // MARK: Requests

    func request(_ path: String, _ body: String, proof: String? = nil, at moment: Moment = start) -> TokenRequest {
        TokenRequest(
            body: Array(body.utf8), proofs: proof.map { [$0] } ?? [], method: "POST", url: Self.origin + path,
            address: IPAddress(ipv4: (192, 0, 2, 1)), moment: moment)
    }

    func challenge(in options: [UInt8]) throws -> [UInt8] {
        let read = try JSONSerialization.jsonObject(with: Data(options))
        let object = try #require(read as? [String: Any])
        let text = try #require(object["challenge"] as? String)
        return try #require(Base64URL.decode(text))
    }

    // MARK: Registration

    func creationOptions(
        for principal: Principal?, _ body: String = "", at moment: Moment = start
    ) async throws -> [UInt8] {
        try await PasskeyRegistration(services).options(
            request("/api/auth/passkey/register/options", body, at: moment), for: principal
        ).get()
    }

    func registration(over challenge: [UInt8], origin: String = origin) throws -> String {
        let made = try passkey.registration(
            PasskeyRequest(rpID: "mud.example", origin: origin, challenge: challenge), .none, by: vendor, at: start.date
        )
        return credential([
            "clientDataJSON": made.clientDataJSON, "attestationObject": made.attestationObject,
        ])
    }

    func register(
        _ body: String, by principal: Principal?, at moment: Moment = start,
        unless record: AccountAct.Record = { _ in nil }
    ) async -> Result<RegisteredPasskey, RefusedRequest> {
        await PasskeyRegistration(services).register(
            request("/api/auth/passkey/register", body, at: moment), by: principal, unless: record)
    }

    /// An account with this passkey.
    func signUp(by principal: Principal? = .newcomer) async throws -> RegisteredPasskey {
        let options = try await creationOptions(for: principal)
        return try await register(try registration(over: try challenge(in: options)), by: principal).get()
    }

    // MARK: Sign-in

    var thumbprint: [UInt8] {
        let jwk = #"{"crv":"P-256","kty":"EC","x":"\#(x)","y":"\#(y)"}"#
        return Array(SHA256.hash(data: Array(jwk.utf8)))
    }

    func requestOptions(at moment: Moment = start) throws -> [UInt8] {
        let body = #"{"dpop_jkt":"\#(Base64URL.encode(thumbprint))"}"#
        return try SignIn(services).options(
            request("/api/auth/passkey/authenticate/options", body, at: moment)
        ).get()
    }

    mutating func authentication(
        over challenge: [UInt8], origin: String = origin,
        changing change: (inout PasskeyAuthenticationPlan) throws -> Void = { _ in }
    ) throws -> String {
        let made = try passkey.authentication(
            PasskeyRequest(rpID: "mud.example", origin: origin, challenge: challenge), changing: change)
        var response = [
            "clientDataJSON": made.clientDataJSON, "authenticatorData": made.authenticatorData,
            "signature": made.signature,
        ]
        response["userHandle"] = userHandle
        return credential(response)
    }

    func signIn(_ body: String, proof: String? = nil, at moment: Moment = start) async throws -> SignInOutcome {
        let path = "/api/auth/passkey/authenticate"
        let proof = try proof ?? self.proof(path, at: moment)
        return await SignIn(services).signIn(request(path, body, proof: proof, at: moment), by: gate) {
            gate.refuseBlocked($0)
        }
    }

    func proof(_ path: String, at moment: Moment = start) throws -> String {
        let header = #"{"typ":"dpop+jwt","alg":"ES256","jwk":{"crv":"P-256","kty":"EC","x":"\#(x)","y":"\#(y)"}}"#
        let claims =
            #"{"htm":"POST","htu":"\#(Self.origin + path)","iat":\#(moment.unixMilliseconds / 1_000),"jti":"\#(UUID())"}"#
        let input = Base64URL.encode(header.utf8) + "." + Base64URL.encode(claims.utf8)
        let signature = try proofKey.signature(for: Data(input.utf8))
        return input + "." + Base64URL.encode(signature.rawRepresentation)
    }

    private var x: String { Base64URL.encode(proofKey.publicKey.rawRepresentation.prefix(32)) }
    private var y: String { Base64URL.encode(proofKey.publicKey.rawRepresentation.suffix(32)) }

    func credential(_ response: [String: [UInt8]]) -> String {
        let members = response.sorted { $0.key < $1.key }.map { #""\#($0.key)":"\#(Base64URL.encode($0.value))""# }
        let id = Base64URL.encode(passkey.credentialID)
        return #"{"id":"\#(id)","rawId":"\#(id)","type":"public-key","response":{\#(members.joined(separator: ","))}}"#
    }

    /// The player, signed in with this bench's key.
    func player(_ account: AccountID) -> Principal { .showing(.account(account, key: thumbprint), as: account.text) }
}

extension Result where Failure == RefusedRequest {
    var refusal: Refusal? { if case .failure(let refused) = self { refused.refusal } else { nil } }
}

extension SignInOutcome {
    var refusal: Refusal? { if case .refused(let refusal) = self { refusal } else { nil } }
    var token: IssuedAccountToken? { if case .signedIn(let token, _) = self { token } else { nil } }
}

extension AccountBench {
    /// Another player of the same gateway.
    init(sharing bench: AccountBench) throws {
        try self.init(services: bench.services, store: bench.store, passkey: bench.passkey)
    }

    private init(services: AccountServices, store: MemoryAccounts, passkey: SimulatedPasskey) throws {
        vendor = try SimulatedVendor(at: start.date)
        (self.services, self.store, self.passkey) = (services, store, passkey)
        gate = Gate(GateSettings(drain: DrainSwitch(), leases: SessionLeases(maximum: nil)))
        proofKey = P256.Signing.PrivateKey()
    }

    /// A proof for a request with an access token.
    func proof(for token: String, _ path: String) throws -> String {
        let header = #"{"typ":"dpop+jwt","alg":"ES256","jwk":{"crv":"P-256","kty":"EC","x":"\#(x)","y":"\#(y)"}}"#
        let hash = Base64URL.encode(Array(SHA256.hash(data: Array(token.utf8))))
        let time = start.unixMilliseconds / 1_000
        let claims =
            #"{"ath":"\#(hash)","htm":"POST","htu":"\#(Self.origin + path)","iat":\#(time),"jti":"\#(UUID())"}"#
        let input = Base64URL.encode(header.utf8) + "." + Base64URL.encode(claims.utf8)
        return input + "." + Base64URL.encode(try proofKey.signature(for: Data(input.utf8)).rawRepresentation)
    }
}

/// The parts of a compact JWS.
struct Base64URLParts {
    let payload: [UInt8]?

    init(_ text: String) {
        let parts = text.split(separator: ".")
        payload = parts.count == 3 ? Base64URL.decode(String(parts[1])) : nil
    }

    static func encode(_ bytes: [UInt8]) -> String { Base64URL.encode(bytes) }
}
