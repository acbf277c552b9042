import DeviceSimulation
import Foundation
import Reactors

/// The part of an app that gets access tokens: challenge, registration if needed, and `POST /token`. It also signs
/// proofs, because it has the device's keys.
actor TokenIssuerClient {
    /// How the device proves itself.
    enum Evidence: Sendable {
        /// - Parameter authority: attests the key if the gateway demands a registration; nil: the command then fails.
        case appAttest(authority: SimulatedAuthority?)
        case developmentToken(String)
    }

    private let gateway: WebURL
    private let http: HTTPRequests
    private let evidence: Evidence
    private var file: DeviceFile
    /// The device may be registered.
    private var isKnown: Bool
    private var nonces = OriginNonces()

    init(_ gateway: WebURL, http: HTTPRequests, evidence: Evidence, file: DeviceFile) {
        (self.gateway, self.http, self.evidence, self.file) = (gateway, http, evidence, file)
        isKnown = file.wasKept
    }

    /// - Throws: an `ExitCode`, after the reason was reported.
    func newToken() async throws -> HeldToken {
        do {
            switch evidence {
            case .developmentToken(let token):
                return try await exchange { try $0.token(developmentToken: token, proof: $1) }
            case .appAttest(let authority): return try await attestedToken(authority)
            }
        } catch let refusal as RefusedTokenRequest {
            throw refusal.failure
        }
    }

    /// A new device registers first, a known one only if the gateway demands it.
    private func attestedToken(_ authority: SimulatedAuthority?) async throws -> HeldToken {
        guard let authority else { return try await attestedToken(registeredBy: nil) }
        guard isKnown else { return try await attestedToken(registeredBy: authority) }
        do {
            return try await attestedToken(registeredBy: nil)
        } catch let refusal as RefusedTokenRequest where refusal.isRegistrationRequired {
            return try await attestedToken(registeredBy: authority)
        }
    }

    /// One challenge serves the registration and the token.
    private func attestedToken(registeredBy authority: SimulatedAuthority?) async throws -> HeldToken {
        let nonce = try await challenge()
        guard let hash = TokenRequests(file.device).clientDataHash(nonce: nonce) else {
            throw SimOutput.failure("the gateway's challenge is not base64url.")
        }
        if let authority { try await register(by: authority, nonce: nonce, hash: hash) }
        let assertion = try file.assert(clientDataHash: hash)
        return try await exchange { try $0.token(assertion: assertion, nonce: nonce, proof: $1) }
    }

    private func challenge() async throws -> String {
        let answer = try await http.send(
            "POST", try url("/attest/challenge"), headers: [("Content-Type", "application/json")],
            body: Array(#"{"purpose":"token"}"#.utf8))
        let body = try Self.success(answer)
        return try Self.decoded { try ChallengeAnswer(body) }.nonce
    }

    private func register(by authority: SimulatedAuthority, nonce: String, hash: [UInt8]) async throws {
        let attestation = try file.device.attest(clientDataHash: hash, by: authority, at: .now)
        try file.save()
        _ = try await post("/attest/register") { requests, proof in
            try requests.registration(attestation: attestation, nonce: nonce, proof: proof)
        }
        isKnown = true
    }

    private func exchange(_ body: (TokenRequests, _ proof: String) throws -> [UInt8]) async throws -> HeldToken {
        let time = Date.now
        let answer = try await post("/token", body)
        let token = try Self.decoded { try TokenAnswer(answer) }
        return HeldToken(text: token.accessToken, lifetime: token.expiresIn, requestedAt: time)
    }

    /// Sends a body with a proof; if the server demands a nonce, once more with it and the same evidence.
    private func post(
        _ path: String, _ body: (TokenRequests, _ proof: String) throws -> [UInt8]
    ) async throws -> [UInt8] {
        let url = try url(path)
        var tried: Set<ProofAnswer> = []
        while true {
            let proof = try proof("POST", url: url.text, origin: url.origin, accessToken: nil)
            let answer = try await http.send(
                "POST", url, headers: [("DPoP", proof), ("Content-Type", "application/json")],
                body: body(TokenRequests(file.device), proof))
            nonces.note(answer.nonce, from: url.origin)
            let next = ProofAnswer.of(status: answer.status, nonce: answer.nonce, authenticate: nil, tried: tried)
            guard next == .retryWithNonce else { return try Self.success(answer) }
            tried.insert(next)
        }
    }

    private func url(_ path: String) throws -> WebURL {
        guard let url = gateway.appending(path) else { throw SimOutput.failure("--gateway is no URL.") }
        return url
    }

    private static func success(_ answer: HTTPClientAnswer) throws -> [UInt8] {
        guard (200..<300).contains(answer.status) else { throw RefusedTokenRequest(answer) }
        return answer.body
    }

    private static func decoded<Answer>(_ read: () throws -> Answer) throws -> Answer {
        do { return try read() } catch { throw SimOutput.failure("the gateway's answer can't be read: \(error)") }
    }

    // MARK: Proofs

    func proof(_ method: String, url: String, origin: String, accessToken: String?) throws -> String {
        try file.device.proofKey.sign(
            SimulatedProof(
                method: method, url: url, time: .now, id: UUID().uuidString, nonce: nonces[origin],
                accessToken: accessToken))
    }

    func note(_ nonce: String?, from origin: String) { nonces.note(nonce, from: origin) }
}

/// The gateway refused to register a key or to issue a token.
struct RefusedTokenRequest: Error {
    private let answer: HTTPClientAnswer

    init(_ answer: HTTPClientAnswer) { self.answer = answer }

    var isRegistrationRequired: Bool {
        (try? TokenRefusalAnswer(answer.body))?.isRegistrationRequired(status: answer.status) == true
    }

    /// Reports it to the tool's user.
    var failure: any Error { GatewayRefusal.failure(status: answer.status, body: answer.body) }
}
