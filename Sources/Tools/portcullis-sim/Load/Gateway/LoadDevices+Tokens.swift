import DeviceSimulation
import Foundation

// MARK: Access tokens

extension LoadDevices {
    typealias TokenDone = (Result<HeldToken, ErrorKind>) -> Void

    /// The device's token, or a new one; while one is being requested, all wait for it.
    func withToken(_ index: Int, _ done: @escaping TokenDone) {
        if let token = slots[index].token, token.isFresh(at: .now) { return done(.success(token)) }
        slots[index].waiting.append { [self] result in
            done(result.flatMap { _ in slots[index].token.map { .success($0) } ?? .failure(.noToken) })
        }
        guard !slots[index].isBusy else { return }
        slots[index].isBusy = true
        newToken(index) { [self] result in
            slots[index].token = try? result.get()
            slots[index].isBusy = false
            let waiting = slots[index].waiting
            slots[index].waiting = []
            for done in waiting { done(result.map { _ in [] }) }
        }
    }

    /// A new token only for this client, even if the device has a valid one.
    func renew(for client: Int, _ done: @escaping (ErrorKind?) -> Void) {
        let index = client % slots.count
        guard !slots[index].isBusy else {
            slots[index].waiting.append { [self] _ in renew(for: client, done) }
            return
        }
        slots[index].isBusy = true
        newToken(index) { [self] result in
            slots[index].isBusy = false
            let waiting = slots[index].waiting
            slots[index].waiting = []
            for next in waiting { next(.success([])) }
            if case .failure(let kind) = result { done(kind) } else { done(nil) }
        }
    }

    /// Headers for a request to a service behind the gateway's tokens.
    func headers(for client: Int, _ method: String, path: String, _ done: @escaping Done) {
        let index = client % slots.count
        withToken(index) { [self] result in done(result.flatMap { proofHeaders(index, method, origin + path, $0) }) }
    }

    /// The fields in which a proxy describes its client's request.
    func forwarded(_ method: String, path: String) -> Headers {
        let parts = origin.split(separator: "/", maxSplits: 2).map(String.init)
        return [
            ("X-Forwarded-Method", method), ("X-Forwarded-Proto", parts[0].replacing(":", with: "")),
            ("X-Forwarded-Host", parts[1]), ("X-Forwarded-Uri", path),
        ]
    }

    /// Challenge, assertion, token. One at a time for each device, because of its counter.
    func newToken(_ index: Int, _ done: @escaping TokenDone) {
        requests.tokenChallenge { [self] result in
            switch result {
            case .failure(let kind): done(.failure(kind))
            case .success(let nonce):
                guard let hash = TokenRequests(slots[index].device).clientDataHash(nonce: nonce),
                    let assertion = try? slots[index].device.assert(clientDataHash: hash)
                else { return done(.failure(.noToken)) }
                exchange(index, assertion: assertion, nonce: nonce, isRetry: false, done)
            }
        }
    }

    /// The assertion is sent again if the gateway demands a nonce in the proof.
    private func exchange(
        _ index: Int, assertion: [UInt8], nonce: String, isRetry: Bool, _ done: @escaping TokenDone
    ) {
        let time = Date.now
        guard let proof = proof(index, "POST", origin + "/token", token: nil),
            let body = try? TokenRequests(slots[index].device).token(assertion: assertion, nonce: nonce, proof: proof)
        else { return done(.failure(.noToken)) }
        requests.request("POST", "/token", headers: [("DPoP", proof)], body: body, failure: .noToken) { [self] result in
            guard case .success(let answer) = result else { return done(.failure(.noToken)) }
            if let nonce = answer.nonce { slots[index].nonce = nonce }
            if answer.status == 401, answer.nonce != nil, !isRetry {
                return exchange(index, assertion: assertion, nonce: nonce, isRetry: true, done)
            }
            guard answer.status == 200, let token = try? TokenAnswer(answer.body) else {
                return done(.failure(.refused(status: answer.status, code: "token")))
            }
            done(.success(HeldToken(text: token.accessToken, lifetime: token.expiresIn, requestedAt: time)))
        }
    }

    /// `Authorization` and `DPoP` for one request.
    func proofHeaders(
        _ index: Int, _ method: String, _ url: String, _ token: HeldToken
    ) -> Result<Headers, ErrorKind> {
        guard let proof = proof(index, method, url, token: token.text) else { return .failure(.noToken) }
        return .success([("Authorization", "DPoP \(token.text)"), ("DPoP", proof)])
    }

    func proof(_ index: Int, _ method: String, _ url: String, token: String?) -> String? {
        try? slots[index].device.proofKey.sign(
            SimulatedProof(
                method: method, url: url, time: .now, id: UUID().uuidString, nonce: slots[index].nonce,
                accessToken: token))
    }
}
