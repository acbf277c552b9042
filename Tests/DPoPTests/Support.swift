import Crypto
import Foundation
import Synchronization
import Testing

@testable import DPoP

/// A proof that a test can break anywhere. It is encoded with Foundation's base64, not with ours.
struct TestProof {
    static let now = Date(timeIntervalSince1970: 1_900_000_000)
    static let url = "https://gate.example/api/x"
    static let token = "an.access-token_68~+/="

    /// Raw JSON values.
    var header: [String: String]
    var claims: [String: String]
    var key: P256.Signing.PrivateKey

    init(scalar: UInt8 = 7, id: String = "d8f0c9a6-3c5e-4f5b", url: String = Self.url, method: String = "GET") throws {
        key = try Self.key(scalar)
        header = ["typ": "\"dpop+jwt\"", "alg": "\"ES256\"", "jwk": Self.jwk(key)]
        claims = ["jti": "\"\(id)\"", "htm": "\"\(method)\"", "htu": "\"\(url)\"", "iat": "1900000000"]
    }

    static func key(_ scalar: UInt8) throws -> P256.Signing.PrivateKey {
        try P256.Signing.PrivateKey(rawRepresentation: [UInt8](repeating: scalar, count: 32))
    }

    static func jwk(_ key: P256.Signing.PrivateKey, also members: String = "") -> String {
        let point = key.publicKey.rawRepresentation
        let (x, y) = (base64URL(point.prefix(32)), base64URL(point.suffix(32)))
        return #"{"crv":"P-256","kty":"EC","x":"\#(x)","y":"\#(y)"\#(members)}"#
    }

    static func hash(of token: String) -> String { "\"\(base64URL(Data(SHA256.hash(data: Data(token.utf8)))))\"" }

    var text: String { get throws { try Self.sign(header: json(header), payload: json(claims), by: key) } }

    var thumbprint: JWKThumbprint { get throws { try PublicJWK(json: Array(Self.jwk(key).utf8)).thumbprint } }

    static func sign(header: String, payload: String, by key: P256.Signing.PrivateKey) throws -> String {
        let input = base64URL(Data(header.utf8)) + "." + base64URL(Data(payload.utf8))
        return input + "." + base64URL(try key.signature(for: Data(input.utf8)).rawRepresentation)
    }

    private func json(_ members: [String: String]) -> String {
        "{" + members.sorted { $0.key < $1.key }.map { "\"\($0.key)\":\($0.value)" }.joined(separator: ",") + "}"
    }

    /// As a request without an access token.
    var request: ProofRequest { get throws { ProofRequest(proofs: [try text], method: "GET", url: Self.url) } }

    /// As a request with an access token that is bound to this proof's key.
    func request(_ scheme: String, token: String = Self.token) throws -> ProofRequest {
        let presented = try #require(try PresentedToken.read(authorization: ["\(scheme) \(token)"]))
        var request = try request
        request.token = BoundToken(presented, boundTo: try thumbprint)
        return request
    }
}

func base64URL(_ bytes: Data) -> String {
    bytes.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
}

extension DPoPVerifier {
    /// With a new replay store, at the tests' time.
    func verify(_ request: ProofRequest, at time: Date = TestProof.now) throws(ProofRefusal) -> VerifiedProof {
        try verify(request, at: time, spending: MemoryReplayStore())
    }
}

/// Runs `body` on `count` threads that start together, and returns what each one got.
func race<Result: Sendable>(_ count: Int, _ body: @escaping @Sendable (Int) -> Result) -> [Result] {
    let results = SharedList<Result>()
    let starting = DispatchSemaphore(value: 0)
    let finished = DispatchGroup()
    for index in 0..<count {
        finished.enter()
        Thread {
            starting.wait()
            results.append(body(index))
            finished.leave()
        }.start()
    }
    for _ in 0..<count { starting.signal() }
    finished.wait()
    return results.all
}

private final class SharedList<Element: Sendable>: Sendable {
    private let elements = Mutex<[Element]>([])
    func append(_ element: Element) { elements.withLock { $0.append(element) } }
    var all: [Element] { elements.withLock { $0 } }
}
