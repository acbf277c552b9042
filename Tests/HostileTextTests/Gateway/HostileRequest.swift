import Testing

/// A request with a hostile text in one of its parts.
struct HostileRequest: Sendable, CustomTestStringConvertible {
    let name: String
    let listener: HostileGateway.Listener
    /// The longest text that is read there: one field line has 8 KB, a request line too, a body 64 KB.
    let bytes: Int
    let spellings: [Spelling]
    let make: @Sendable ([UInt8]) -> [UInt8]

    var testDescription: String { name }

    /// A field of an upgrade.
    ///
    /// - Parameters:
    ///   - template: the field's value, with `$` for the text.
    ///   - count: of equal fields, which the gateway may join.
    static func field(_ name: String, _ template: String = "$", count: Int = 1) -> HostileRequest {
        let shown = template == "$" ? "" : " with \(template)"
        return HostileRequest(
            name: "the field \(name)\(shown)\(count == 1 ? "" : ", \(count) times")", listener: .edge,
            bytes: 8_000 - template.utf8.count - name.utf8.count, spellings: [.field]
        ) { text in
            let usual = [
                ("Host", "gate.example"), ("Upgrade", "websocket"), ("Connection", "Upgrade"),
                ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="), ("Sec-WebSocket-Version", "13"),
            ].filter { $0.0 != name }.map { "\($0.0): \($0.1)\r\n" }
            let field = Array("\(name): ".utf8) + filled(template, with: text) + Array("\r\n".utf8)
            return Array("GET / HTTP/1.1\r\n\(usual.joined())".utf8) + (0..<count).flatMap { _ in field }
                + Array("\r\n".utf8)
        }
    }

    /// A part of an upgrade's target.
    static func target(_ name: String, _ template: String) -> HostileRequest {
        HostileRequest(name: name, listener: .edge, bytes: 8_000, spellings: [.percent]) { text in
            let fields =
                "Host: gate.example\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
            return Array("GET ".utf8) + filled(template, with: text) + Array(" HTTP/1.1\r\n\(fields)\r\n".utf8)
        }
    }

    /// A body of JSON, as it is and in escapes.
    ///
    /// - Parameter fields: of the request, each with its CRLF.
    static func body(_ name: String, _ path: String, _ template: String, _ fields: String = "") -> HostileRequest {
        let gaps = max(1, template.utf8.count { $0 == UInt8(ascii: "$") })
        return HostileRequest(
            name: "\(name) at \(path)", listener: .edge, bytes: 64_512, spellings: [.json, .jsonEscapes]
        ) { text in
            let body = filled(template, with: Array(wholeCharacters(text.prefix(text.count / gaps))))
            let head =
                "POST \(path) HTTP/1.1\r\nHost: gate.example\r\nContent-Type: application/json\r\n\(fields)Content-Length: \(body.count)\r\n\r\n"
            return Array(head.utf8) + body
        }
    }

    /// A request to the internal listener.
    ///
    /// - Parameter template: the request without its last empty line, with `$` for the text.
    static func inside(_ name: String, _ template: String, spelled spelling: Spelling = .field) -> HostileRequest {
        HostileRequest(name: name, listener: .internalListener, bytes: 7_800, spellings: [spelling]) { text in
            filled(template, with: text) + Array("\r\n\r\n".utf8)
        }
    }

    static let all = fields + targets + bodies + questions
}

private let jwk =
    #"{"kty":"EC","crv":"P-256","x":"Nmb2VFsi6F1QYz7tC8dF8a3Dm5bqgh9bV18s2SWRCRs","y":"pcfDkJvZ3LxtiS34fanZc3F-9MmHX9LrSkVjVGbD3qA"}"#

private let fields: [HostileRequest] = [
    .field("Authorization"), .field("Authorization", count: 2), .field("Authorization", "Bearer $"),
    .field("Authorization", "DPoP $"), .field("Authorization", "Bearer eyJ$.a.b"), .field("Authorization", "$ a"),
    .field("DPoP"), .field("DPoP", count: 2), .field("DPoP", "e30.$.e30"), .field("Sec-WebSocket-Version"),
    .field("Sec-WebSocket-Version", count: 2), .field("Sec-WebSocket-Version", "13$"), .field("Sec-WebSocket-Protocol"),
    .field("Sec-WebSocket-Protocol", "telnet, $"), .field("Sec-WebSocket-Key"), .field("Sec-WebSocket-Extensions"),
    .field("Sec-WebSocket-Extensions", "permessage-deflate; client_max_window_bits=$"), .field("Upgrade"),
    .field("Connection"), .field("Connection", "Upgrade, $"), .field("Origin"), .field("Origin", "https://$"),
    .field("Origin", "$://a"), .field("Host"), .field("X-Forwarded-For"), .field("X-Forwarded-For", "$, 127.0.0.1"),
    .field("X-Forwarded-For", count: 2), .field("Forwarded"), .field("Forwarded", "for=$"),
    .field("Forwarded", "for=\"$\""), .field("Forwarded", "$;for=192.0.2.1"), .field("X-App-Assert-KeyId"),
    .field("X-App-Assert-Data"), .field("X-App-Assert-Nonce"), .field("Cookie"), .field("Content-Type"),
    .field("Content-Length"), .field("Transfer-Encoding"), .field("Expect"), .field("User-Agent"), .field("X-Unknown"),
]

private let targets: [HostileRequest] = [
    .target("?dialect", "/?dialect=$"), .target("?target", "/?target=$"),
    .target("?session", "/?session=$&token=$&lastSeq=1"),
    .target("?lastSeq", "/?session=a&token=b&lastSeq=$"), .target("?ticket", "/?ticket=$"),
    .target("?cols", "/?cols=$&rows=$"),
    .target("?client", "/?client=$&ttype=$"), .target("an unknown parameter", "/?$=$"), .target("/mud/", "/mud/$"),
    .target("an unknown path", "/$"),
    .target("a path of accounts", "/api/auth/$"), .target("a passkey", "/api/auth/passkey/$"),
]

private let bodies: [HostileRequest] = [
    .body("a member", "/attest/register", #"{"$":"a"}"#), .body("keyId", "/attest/register", #"{"keyId":"$"}"#),
    .body("nonce", "/attest/register", #"{"keyId":"a","attestation":"a","nonce":"$"}"#),
    .body("attestation", "/attest/register", #"{"keyId":"a","attestation":"$","nonce":"a"}"#),
    .body("type", "/attest/register", #"{"device_key_jwk":\#(jwk),"attestation":{"type":"$"}}"#),
    .body(
        "a token client's member", "/attest/register", #"{"device_key_jwk":{"$":"$"},"$":1}"#, "DPoP: e30.e30.e30\r\n"),
    .body(
        "a token client's type", "/attest/register", #"{"device_key_jwk":\#(jwk),"attestation":{"type":"$"}}"#,
        "DPoP: a\r\n"),
    .body("purpose", "/attest/challenge", #"{"purpose":"$"}"#),
    .body("a member", "/attest/challenge", #"{"$":"token"}"#),
    .body("attestation.type", "/token", #"{"device_key_jwk":\#(jwk),"attestation":{"type":"$"}}"#, "DPoP: a\r\n"),
    .body("dev_token", "/token", #"{"device_key_jwk":\#(jwk),"dev_token":"$"}"#, "DPoP: a\r\n"),
    .body("dpop", "/token", #"{"device_key_jwk":\#(jwk),"dev_token":"a","dpop":"$"}"#, "DPoP: a\r\n"),
    .body("a member", "/token", #"{"device_key_jwk":\#(jwk),"$":"$"}"#),
    .body("kty", "/token", #"{"device_key_jwk":{"kty":"$"}}"#),
    .body("a body", "/ticket", "$"), .body("a body", "/attest/register", "$"), .body("a body", "/token", "$"),
    .body("a body", "/health", "$"),
    .body("a member", "/api/auth/passkey/register/options", #"{"$":"a"}"#),
    .body("a passkey", "/api/auth/passkey/register/options", #"{"passkey":{"id":"AAAA","response":{"$":"$"}}}"#),
    .body("a label", "/api/auth/passkey/register", #"{"id":"AAAA","label":"$","response":{"clientDataJSON":"e30"}}"#),
    .body(
        "client data", "/api/auth/passkey/register",
        #"{"id":"AAAA","response":{"clientDataJSON":"$","attestationObject":"AAAA"}}"#),
    .body("dpop_jkt", "/api/auth/passkey/authenticate/options", #"{"dpop_jkt":"$"}"#),
    .body("an id", "/api/auth/passkey/authenticate", #"{"id":"$","response":{}}"#, "DPoP: a\r\n"),
    .body(
        "a handle", "/api/auth/passkey/authenticate",
        #"{"id":"AAAA","response":{"clientDataJSON":"e30","authenticatorData":"AA","signature":"AA","userHandle":"$"}}"#,
        "DPoP: a\r\n"),
    .body("a body", "/api/auth/device", "$"),
]

private let authz = "GET /authz HTTP/1.1\r\nHost: x\r\n"
private let nginx = authz + "X-Original-Method: GET\r\nX-Original-URL: https://api.example.com/\r\n"

private let questions: [HostileRequest] = [
    .inside("X-Original-URL", authz + "X-Original-Method: GET\r\nX-Original-URL: $"),
    .inside("X-Original-Method", authz + "X-Original-Method: $\r\nX-Original-URL: https://a/"),
    .inside(
        "X-Forwarded-Proto",
        authz + "X-Forwarded-Method: GET\r\nX-Forwarded-Uri: /\r\nX-Forwarded-Host: a\r\nX-Forwarded-Proto: $"),
    .inside(
        "X-Forwarded-Host",
        authz + "X-Forwarded-Method: GET\r\nX-Forwarded-Uri: /\r\nX-Forwarded-Host: $\r\nX-Forwarded-Proto: https"),
    .inside(
        "X-Forwarded-Uri",
        authz + "X-Forwarded-Method: GET\r\nX-Forwarded-Uri: $\r\nX-Forwarded-Host: a\r\nX-Forwarded-Proto: https"),
    .inside("a question's X-Forwarded-For", nginx + "X-Forwarded-For: $"),
    .inside("a question's Authorization", nginx + "Authorization: $"),
    .inside("a question's token", nginx + "Authorization: DPoP $"),
    .inside("a question's scheme", nginx + "Authorization: $ a"),
    .inside("a question's DPoP", nginx + "Authorization: DPoP e30.e30.e30\r\nDPoP: $"),
    .inside("a question's internal token", nginx + "X-Portcullis-Internal-Token: $"),
    .inside("a question's methods", "GET /admit/$/authz HTTP/1.1\r\nHost: x", spelled: .percent),
    .inside("a question's route", "GET /route/$/authz HTTP/1.1\r\nHost: x", spelled: .percent),
    .inside("Accept", "GET /metrics HTTP/1.1\r\nHost: x\r\nAccept: $"),
    .inside("a version in Accept", "GET /metrics HTTP/1.1\r\nHost: x\r\nAccept: text/plain;version=\"$\""),
    .inside("the console's Host", "GET /console HTTP/1.1\r\nHost: $"),
    .inside("the console's Origin", "GET /console HTTP/1.1\r\nHost: localhost\r\nOrigin: $"),
    .inside("the console's Sec-Fetch-Site", "GET /console HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Site: $"),
    .inside(
        "the console's token",
        "POST /console/api/sessions/close?id=a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nX-Portcullis-Console: $"
    ),
    .inside(
        "the console's filter", "GET /console/api/sessions?subject=$ HTTP/1.1\r\nHost: localhost", spelled: .percent),
    .inside("the console's order", "GET /console/api/sessions?order=$ HTTP/1.1\r\nHost: localhost", spelled: .percent),
    .inside("the console's path", "GET /console/$ HTTP/1.1\r\nHost: localhost", spelled: .percent),
    .inside("an internal path", "GET /$ HTTP/1.1\r\nHost: localhost", spelled: .percent),
]
