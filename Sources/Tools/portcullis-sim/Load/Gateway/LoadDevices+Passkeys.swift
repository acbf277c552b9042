import Crypto
import DeviceSimulation
import Foundation

// MARK: Players with passkeys

/// Each device has a player, who signs up with the device's access token. The device's key signs the proofs of all
/// sign-ins.
extension LoadDevices {
    private static let folder = "/api/auth/passkey/"

    /// Options, the passkey's signature, a proof, a new access token. Before the first time the player signs up.
    func signIn(for client: Int, _ done: @escaping (ErrorKind?) -> Void) {
        let index = client % slots.count
        guard slots[index].player == nil else { return askToSignIn(index, done) }
        signUp(client) { [self] failure in
            if let failure { done(failure) } else { askToSignIn(index, done) }
        }
    }

    // MARK: Sign-up

    private func signUp(_ client: Int, _ done: @escaping (ErrorKind?) -> Void) {
        post("register/options", Array("{}".utf8), for: client) { [self] result in
            switch result.flatMap(newPasskey) {
            case .failure(let kind): done(kind)
            case .success(let (player, body)):
                post("register", body, for: client) { [self] result in
                    guard case .failure(let kind) = result else {
                        slots[client % slots.count].player = player
                        return done(nil)
                    }
                    done(kind)
                }
            }
        }
    }

    /// With the device's access token. It is sent again if the gateway demands a nonce in the proof.
    private func post(
        _ name: String, _ body: [UInt8], for client: Int, isRetry: Bool = false,
        _ done: @escaping (Result<[UInt8], ErrorKind>) -> Void
    ) {
        let path = Self.folder + name
        headers(for: client, "POST", path: path) { [self] result in
            switch result {
            case .failure(let kind): done(.failure(kind))
            case .success(let headers):
                requests.request("POST", path, headers: headers, body: body, failure: .noPasskey) { [self] result in
                    guard case .success(let answer) = result, answer.status == 401, let nonce = answer.nonce, !isRetry
                    else { return done(result.flatMap(Self.accepted)) }
                    slots[client % slots.count].nonce = nonce
                    post(name, body, for: client, isRetry: true, done)
                }
            }
        }
    }

    private static func accepted(_ answer: HTTPAnswerParser.Answer) -> Result<[UInt8], ErrorKind> {
        answer.status == 200 ? .success(answer.body) : .failure(.refused(status: answer.status, code: "passkey"))
    }

    private func newPasskey(_ answer: [UInt8]) -> Result<(Player, body: [UInt8]), ErrorKind> {
        let passkey = SimulatedPasskey(.es256())
        guard let vendor, let options = try? JSONDecoder().decode(CreationOptions.self, from: Data(answer)),
            let request = request(options.challenge, of: options.rp.id),
            let made = try? passkey.registration(request, .none, by: vendor, at: .now),
            let body = Self.body(
                passkey, ["clientDataJSON": made.clientDataJSON, "attestationObject": made.attestationObject])
        else { return .failure(.noPasskey) }
        return .success((Player(passkey: passkey, user: options.user.id), body))
    }

    // MARK: Sign-in

    private func askToSignIn(_ index: Int, _ done: @escaping (ErrorKind?) -> Void) {
        let thumbprint = Data(SHA256.hash(data: slots[index].device.proofKey.jwk.canonicalJSON)).base64URL
        let body = Array(#"{"dpop_jkt":"\#(thumbprint)"}"#.utf8)
        requests.request("POST", Self.folder + "authenticate/options", body: body, failure: .noPasskey) {
            [self] result in
            switch result.flatMap(Self.accepted).flatMap({ signed(index, $0) }) {
            case .failure(let kind): done(kind)
            case .success(let body): present(index, body, isRetry: false, done)
            }
        }
    }

    private func signed(_ index: Int, _ answer: [UInt8]) -> Result<[UInt8], ErrorKind> {
        guard var player = slots[index].player,
            let options = try? JSONDecoder().decode(RequestOptions.self, from: Data(answer)),
            let request = request(options.challenge, of: options.rpId),
            let made = try? player.passkey.authentication(request),
            let body = Self.body(
                player.passkey,
                [
                    "clientDataJSON": made.clientDataJSON, "authenticatorData": made.authenticatorData,
                    "signature": made.signature,
                ], user: player.user)
        else { return .failure(.noPasskey) }
        slots[index].player = player
        return .success(body)
    }

    /// The passkey's answer is sent again if the gateway demands a nonce in the proof.
    private func present(_ index: Int, _ body: [UInt8], isRetry: Bool, _ done: @escaping (ErrorKind?) -> Void) {
        let path = Self.folder + "authenticate"
        guard let proof = proof(index, "POST", origin + path, token: nil) else { return done(.noPasskey) }
        requests.request("POST", path, headers: [("DPoP", proof)], body: body, failure: .noPasskey) { [self] result in
            guard case .success(let answer) = result else { return done(.noPasskey) }
            if let nonce = answer.nonce { slots[index].nonce = nonce }
            if answer.status == 401, answer.nonce != nil, !isRetry {
                return present(index, body, isRetry: true, done)
            }
            done(keepToken(index, answer))
        }
    }

    /// The player's next refresh token.
    func keepToken(_ index: Int, _ answer: HTTPAnswerParser.Answer) -> ErrorKind? {
        switch Self.accepted(answer) {
        case .failure(let kind): return kind
        case .success(let body):
            guard let pair = try? JSONDecoder().decode(Pair.self, from: Data(body)) else { return .noToken }
            slots[index].player?.refreshToken = pair.refreshToken
            return nil
        }
    }

    // MARK: What crosses

    private struct Pair: Decodable {
        let refreshToken: String
    }

    private func request(_ challenge: String, of domain: String) -> PasskeyRequest? {
        Data(base64URL: challenge).map { PasskeyRequest(rpID: domain, origin: origin, challenge: Array($0)) }
    }

    /// As `toJSON()` of a credential returns it.
    ///
    /// - Parameter user: the user handle, at a sign-in.
    private static func body(
        _ passkey: SimulatedPasskey, _ response: [String: [UInt8]], user: String? = nil
    ) -> [UInt8]? {
        let id = Data(passkey.credentialID).base64URL
        var response = response.mapValues { Data($0).base64URL }
        response["userHandle"] = user
        let credential = Credential(id: id, rawId: id, type: "public-key", response: response)
        return (try? JSONEncoder().encode(credential)).map { Array($0) }
    }

    private struct Credential: Encodable {
        let id, rawId, type: String
        let response: [String: String]
    }

    private struct CreationOptions: Decodable {
        struct Entity: Decodable { let id: String }
        let challenge: String
        let rp, user: Entity
    }

    private struct RequestOptions: Decodable {
        let challenge, rpId: String
    }
}
