// MARK: Players who stay signed in

extension LoadDevices {
    private static let validation = "/api/auth/token/validate"

    /// The player's refresh token and a proof, for the next pair. Before the first time the player signs up and in.
    func refresh(for client: Int, _ done: @escaping (ErrorKind?) -> Void) {
        let turn = turns[client, default: 0]
        turns[client] = turn + 1
        let index = (client + turn * clients) % slots.count
        guard let token = slots[index].player?.refreshToken else { return signIn(for: index, done) }
        validate(index, token, isRetry: false, done)
    }

    /// The token is sent again if the gateway demands a nonce in the proof.
    private func validate(
        _ index: Int, _ token: String, isRetry: Bool, _ done: @escaping (ErrorKind?) -> Void
    ) {
        guard let proof = proof(index, "POST", origin + Self.validation, token: nil) else { return done(.noToken) }
        let body = Array(#"{"refreshToken":"\#(token)"}"#.utf8)
        requests.request("POST", Self.validation, headers: [("DPoP", proof)], body: body, failure: .noToken) {
            [self] result in
            guard case .success(let answer) = result else { return done(.noToken) }
            if let nonce = answer.nonce { slots[index].nonce = nonce }
            if answer.status == 401, answer.nonce != nil, !isRetry {
                return validate(index, token, isRetry: true, done)
            }
            done(keepToken(index, answer))
        }
    }
}
