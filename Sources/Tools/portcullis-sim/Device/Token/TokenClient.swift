import DeviceSimulation
import Foundation
import Reactors

/// A client of the token dialect: gets access tokens and sends requests with them, as an app does.
///
/// It keeps the token in memory and requests the next one a minute before its end, once for all waiting requests. Every
/// request has its own proof. It keeps the newest nonce of each server, and sends a request again once if the server
/// demands another.
actor TokenClient {
    typealias Headers = [(name: String, value: String)]

    private let issuer: TokenIssuerClient
    private let http: HTTPRequests
    private var held: HeldToken?
    private var refresh: Task<HeldToken, any Error>?

    init(_ issuer: TokenIssuerClient, http: HTTPRequests) {
        (self.issuer, self.http) = (issuer, http)
    }

    /// The token in memory, or a new one.
    func token() async throws -> HeldToken {
        if let held, held.isFresh(at: .now) { return held }
        if let refresh { return try await refresh.value }
        let task = Task { try await issuer.newToken() }
        refresh = task
        defer { refresh = nil }
        let token = try await task.value
        held = token
        return token
    }

    /// `Authorization` and `DPoP` for one request.
    ///
    /// - Parameter origin: of the server, for its nonce.
    private func headers(_ method: String, url: String, origin: String) async throws -> (Headers, HeldToken) {
        let token = try await token()
        let proof = try await issuer.proof(method, url: url, origin: origin, accessToken: token.text)
        return ([("Authorization", "DPoP \(token.text)"), ("DPoP", proof)], token)
    }

    /// Sends a request with a token, and retries it if the answer allows that.
    func send(
        _ method: String, _ url: WebURL, headers: Headers, body: [UInt8]?,
        streamed: (@Sendable (UnsafeRawBufferPointer) -> Void)?
    ) async throws -> HTTPClientAnswer {
        try await authorized(method, url: url.text, origin: url.origin) { [http] authorization in
            let answer = try await http.send(
                method, url, headers: authorization + headers, body: body, streamed: streamed)
            return (answer, answer.status, answer.nonce, answer.authenticate)
        }
    }

    /// Opens a WebSocket with a token.
    ///
    /// - Parameter url: with the scheme `https` or `http`.
    func play(
        on reactor: Reactor, _ url: WebURL, settings: EdgeClientSettings, lines: [String]?
    ) async throws -> Play.Outcome {
        let webSocket = "ws" + url.text.dropFirst("http".count)
        return try await authorized("GET", url: webSocket, origin: url.origin) { authorization in
            let outcome = await Play.run(on: reactor, settings: settings, headers: authorization, lines: lines)
            guard case .refused(let failure) = outcome else { return (outcome, 101, nil, nil) }
            return (outcome, failure.status ?? 0, failure.nonce, failure.authenticate)
        }
    }

    private func authorized<Answer: Sendable>(
        _ method: String, url: String, origin: String,
        send: @Sendable (Headers) async throws -> (Answer, status: Int, nonce: String?, authenticate: String?)
    ) async throws -> Answer {
        var tried: Set<ProofAnswer> = []
        while true {
            let (headers, token) = try await headers(method, url: url, origin: origin)
            let (answer, status, nonce, authenticate) = try await send(headers)
            await issuer.note(nonce, from: origin)
            let next = ProofAnswer.of(status: status, nonce: nonce, authenticate: authenticate, tried: tried)
            guard next != .final else { return answer }
            tried.insert(next)
            // Another request may have got a new one meanwhile.
            if next == .retryWithToken, held == token { held = nil }
        }
    }
}
