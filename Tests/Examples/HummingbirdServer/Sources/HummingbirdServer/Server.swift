import DPoP
import Foundation
import Hummingbird

/// `HummingbirdServer KEYS ISSUER ORIGIN PORT`: serves `/hello` on this machine to clients with an access token.
///
/// KEYS is a file with what the gateway's `/.well-known/jwks.json` answers. A real service fetches it again as often as
/// its `Cache-Control` says, and replaces the verifier.
@main
struct Server {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 5, let port = Int(arguments[4]),
            let file = FileManager.default.contents(atPath: arguments[1]), let keys = JWKSet(json: Array(file))
        else { fatalError("usage: HummingbirdServer KEYS ISSUER ORIGIN PORT") }
        let tokens = AccessTokenVerifier(
            issuer: arguments[2], audience: arguments[2], keys: keys, clockTolerance: 60)
        let secret = (0..<32).map { _ in UInt8.random(in: .min ... .max) }
        guard let middleware = TokenMiddleware(origin: arguments[3], tokens: tokens, secret: secret) else {
            fatalError("the secret is too short")
        }
        let router = Router(context: ClientContext.self)
        router.add(middleware: middleware)
        router.get("hello") { _, context in "Hello, \(context.client?.app ?? "nobody").\n" }
        let application = Application(
            router: router, configuration: .init(address: .hostname("127.0.0.1", port: port)))
        try await application.runService()
    }
}
