import Benchmark
import Crypto
import FoundationEssentials
import WireText

@testable import DPoP

/// The cost of a proof and of a token, and the share of the signature in it.
func dpopBenchmarks() {
    let stage = TokenStage()
    let verifier = DPoPVerifier()
    measure("dpop: verify a proof", times: .kilo) { count in
        (
            requests: (0..<count).map { stage.request($0) },
            replays: MemoryReplayStore(maximum: 1 << 20, maximumPerKey: 1 << 20)
        )
    } _: { state, run in
        blackHole(try verifier.verify(state.requests[run], at: TokenStage.time, spending: state.replays))
    }
    measure("dpop: verify a proof with its access token", times: .kilo) { count in
        (
            requests: (0..<count).map { stage.request($0) },
            replays: MemoryReplayStore(maximum: 1 << 20, maximumPerKey: 1 << 20)
        )
    } _: { state, run in
        let token = try stage.tokenVerifier.verify(stage.presented, at: TokenStage.time)
        var request = state.requests[run]
        request.token = BoundToken(token)
        blackHole(try verifier.verify(request, at: TokenStage.time, spending: state.replays))
    }
    measure("dpop: refuse a proof that is too old", times: .kilo) { _ in
        stage.request(0)
    } _: { request, _ in
        blackHole(try? verifier.check(request, at: TokenStage.time + 60))
    }
    measure("access token: verify", times: .kilo) { _ in
    } _: { _, _ in
        blackHole(try stage.tokenVerifier.verify(stage.presented, at: TokenStage.time))
    }
    measure("access token: issue", times: .kilo) { _ in
    } _: { _, _ in
        blackHole(try stage.claims.sign(with: stage.signingKey))
    }
    measureSignature(of: stage)
}

/// ECDSA over the same input: once with the key read before, and once with reading it, since each proof brings its key.
private func measureSignature(of stage: TokenStage) {
    let jws = stage.jws
    let key = stage.device.publicKey
    let point = Array(key.rawRepresentation)
    measure("dpop: ECDSA alone", times: .kilo) { _ in
        (
            signature: try P256.Signing.ECDSASignature(rawRepresentation: jws.signature),
            hash: SHA256.hash(data: jws.signingInput)
        )
    } _: { state, _ in
        guard key.isValidSignature(state.signature, for: state.hash) else { fatalError("the signature is good") }
    }
    measure("dpop: ECDSA, and read the key", times: .kilo) { _ in
        (
            signature: try P256.Signing.ECDSASignature(rawRepresentation: jws.signature),
            hash: SHA256.hash(data: jws.signingInput)
        )
    } _: { state, _ in
        let key = try P256.Signing.PublicKey(rawRepresentation: point)
        guard key.isValidSignature(state.signature, for: state.hash) else { fatalError("the signature is good") }
    }
}

/// A device with a token, as the client of a phone has them.
private struct TokenStage {
    static let time = Date(timeIntervalSince1970: 1_900_000_000)
    static let issuer = "https://gate.example"

    let device: P256.Signing.PrivateKey
    let signingKey: SigningKey
    let claims: AccessTokenClaims
    let presented: PresentedToken
    let tokenVerifier: AccessTokenVerifier

    init() {
        do {
            device = try P256.Signing.PrivateKey(rawRepresentation: [UInt8](repeating: 7, count: 32))
            guard let key = SigningKey(rawRepresentation: [UInt8](repeating: 9, count: 32)) else {
                fatalError("it is a scalar")
            }
            signingKey = key
            claims = AccessTokenClaims(
                issuer: Self.issuer, audience: [Self.issuer], subject: "9C5B94B1-35AD-49BB-B118-8E8FC24ABF80",
                app: "A1B2C3D4E5.com.example.game", admissionMethod: "app_attest", tokenID: "d8f0c9a63c5e4f5b",
                issuedAt: Self.time, expiresAt: Self.time + 300, boundKey: PublicJWK(device.publicKey).thumbprint)
            let text = try claims.sign(with: key)
            guard let token = try PresentedToken.read(authorization: ["DPoP \(text)"]) else { fatalError("it is one") }
            presented = token
            tokenVerifier = AccessTokenVerifier(
                issuer: Self.issuer, audience: Self.issuer, keys: JWKSet([key.publicKey]))
        } catch { fatalError("no stage: \(error)") }
    }

    func request(_ number: Int) -> ProofRequest {
        let jwk = String(decoding: PublicJWK(device.publicKey).canonicalJSON, as: UTF8.self)
        let hash = Base64URL.encode(SHA256.hash(data: Array(presented.text.utf8)))
        let payload = """
            {"htm":"POST","htu":"https:\\/\\/gate.example\\/openai\\/chat\\/completions","iat":1900000000,\
            "jti":"9C5B94B1-35AD-49BB-B118-\(number)","ath":"\(hash)"}
            """
        let header = #"{"alg":"ES256","jwk":\#(jwk),"typ":"dpop+jwt"}"#
        do {
            let proof = try CompactJWS.sign(header: Array(header.utf8), payload: Array(payload.utf8), by: device)
            return ProofRequest(proofs: [proof], method: "POST", url: "https://gate.example/openai/chat/completions")
        } catch { fatalError("no proof: \(error)") }
    }

    var jws: CompactJWS {
        do { return try CompactJWS(request(0).proofs[0]) } catch { fatalError("it is one: \(error)") }
    }
}
