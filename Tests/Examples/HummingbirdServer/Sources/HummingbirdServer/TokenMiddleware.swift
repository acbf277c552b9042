import DPoP
import Foundation
import HTTPTypes
import Hummingbird
import RequestErrors

/// Lets only those requests pass that have an access token of the gateway, and a proof by the key that it is bound to
/// (RFC 9449).
struct TokenMiddleware: RouterMiddleware {
    typealias Context = ClientContext

    /// Scheme, host and port as clients write them: `https://api.example.com`.
    let origin: String
    let tokens: AccessTokenVerifier
    private let nonces: ServerNonces
    private let proofs: DPoPVerifier
    private let replays: MemoryReplayStore

    /// - Returns: nil if `secret` is shorter than 32 bytes.
    init?(origin: String, tokens: AccessTokenVerifier, secret: [UInt8]) {
        // What an earlier process has accepted isn't known: a proof that it may have accepted needs a nonce of this
        // one.
        let life = ReplayLife(began: Date())
        guard let nonces = ServerNonces(secret: secret)?.bound(to: life) else { return nil }
        (self.origin, self.tokens, self.nonces) = (origin, tokens, nonces)
        proofs = DPoPVerifier(nonces: .recognised(nonces))
        replays = MemoryReplayStore(life: life)
    }

    func handle(
        _ request: Request, context: ClientContext, next: (Request, ClientContext) async throws -> Response
    ) async throws -> Response {
        var context = context
        do {
            guard let claims = try sender(of: request) else {
                return Response(status: .unauthorized, headers: [.wwwAuthenticate: AuthenticationChallenge.dpop.text])
            }
            context.client = claims
        } catch let error as any RequestError {
            return answer(to: error)
        }
        return try await next(request, context)
    }

    /// - Returns: nil without a token.
    private func sender(of request: Request) throws -> AccessTokenClaims? {
        let authorization = request.headers[values: .authorization]
        guard let presented = try PresentedToken.read(authorization: authorization) else { return nil }
        let token = try tokens.verify(presented, at: Date())
        let proven = ProofRequest(
            proofs: request.headers[values: .dpop], method: request.method.rawValue, url: origin + request.uri.path,
            token: BoundToken(token))
        _ = try proofs.verify(proven, at: Date(), spending: replays)
        return token.claims
    }

    /// Code and description need no escape in JSON.
    private func answer(to error: any RequestError) -> Response {
        let body = #"{"error":"\#(error.code.rawValue)","error_description":"\#(error.clientDescription)"}"#
        var headers: HTTPFields = [.contentType: "application/json", .cacheControl: "no-store"]
        if error.status == 401 { headers[.wwwAuthenticate] = error.wwwAuthenticate() }
        if error.code.rawValue == DPoPErrorCode.useNonce.rawValue { headers[.dpopNonce] = nonces.nonce(at: Date()) }
        return Response(
            status: .init(code: error.status), headers: headers, body: .init(byteBuffer: ByteBuffer(string: body)))
    }
}

/// What the routes know of a request.
struct ClientContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    /// Set by ``TokenMiddleware``.
    var client: AccessTokenClaims?

    init(source: Source) { coreContext = .init(source: source) }
}

extension HTTPField.Name {
    static var dpop: Self { Self("DPoP")! }
    static var dpopNonce: Self { Self("DPoP-Nonce")! }
}
