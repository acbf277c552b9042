import Crypto
import FoundationEssentials
import StrictJSON
import WireText

@testable import DPoP

/// Access tokens and proofs of possession: a stranger has a key, and signs any header and any claims with it.
let jwtPlaces = places {
    proofs
    tokens
    json("a JSON object's member", in: #"{"$":1}"#, readObject)
    json("a JSON object's text", in: #"{"a":"$"}"#, readObject)
    json("a JSON object's member twice", in: #"{"$":1,"$":1}"#, readObject)
    bytes("a JSON object of hostile bytes", readObject)
    made("a JSON object of many members", spelled: [.json, .jsonEscapes]) { bytes in
        let front = bytes.prefix(60)
        let name = Array(wholeCharacters(front))
        let object = objectOfMembers(named: name, bytes.count / 80)
        return { readObject(object) }
    }
    text("a compact JWS") { use(try? CompactJWS($0)) }
    text("a compact JWS of three parts") { text in use(try? CompactJWS("e30.e30." + text)) }
    json("a JWK's curve", in: #"{"kty":"EC","crv":"$","x":"a","y":"a"}"#) { use(try? PublicJWK(json: $0)) }
    json("a JWK's type", in: #"{"kty":"$","crv":"P-256","x":"a","y":"a"}"#) { use(try? PublicJWK(json: $0)) }
    json("a JWK's coordinate", in: #"{"kty":"EC","crv":"P-256","x":"$","y":"a"}"#) {
        use(try? PublicJWK(json: $0))
    }
    json("a JWK's unknown member", in: #"{"kty":"EC","crv":"P-256","x":"a","y":"a","$":"$"}"#) {
        use(try? PublicJWK(json: $0))
    }
    json("the kid of a key set", in: "{\"keys\":[\(jwk.dropLast()),\"kid\":\"$\"}]}") { use(JWKSet(json: $0)) }
    text("a target URI") { use(TargetURI($0)) }
    text("a target URI's scheme") { use(TargetURI($0 + "://a/")) }
    text("a target URI's host") { use(TargetURI("https://" + $0)) }
    text("a target URI's path", bytes: 8_192) { use(TargetURI("https://a/" + $0)) }
    text("a target URI's path of escapes", bytes: 8_192, spelled: [.percent]) {
        use(TargetURI("https://a/" + $0))
    }
    text("a field with a token") { use(try? PresentedToken.read(authorization: [$0])) }
    text("a token behind its scheme") { use(try? PresentedToken.read(authorization: ["DPoP " + $0])) }
    text("a scheme before a token") { use(try? PresentedToken.read(authorization: [$0 + " a"])) }
    text("a server's nonce") { text in
        use(ServerNonces(secret: [UInt8](repeating: 1, count: 32))?.accepts(text, at: time))
    }
}

private let time = Date(timeIntervalSince1970: 1_900_000_000)
private let url = "https://gate.example/token"
private let key = P256.Signing.PrivateKey()
private let jwk: String = {
    let point = key.publicKey.rawRepresentation
    func text(_ bytes: Data) -> String { Base64URL.encode(bytes) }
    return #"{"kty":"EC","crv":"P-256","x":"\#(text(point.prefix(32)))","y":"\#(text(point.suffix(32)))"}"#
}()

private func readObject(_ bytes: [UInt8]) {
    guard let object = try? JSONReader.readObject(bytes, maximumBytes: 65_536) else { return }
    for name in ["alg", "typ", "type", "a"] { use(object[name]?.string) }
}

private let header = #"{"alg":"ES256","typ":"dpop+jwt","jwk":\#(jwk)}"#
private let claims = #"{"htm":"POST","htu":"\#(url)","iat":1900000000,"jti":"1"}"#

/// A signed proof whose header or claims have a text in place of `$`.
///
/// - Parameter bytes: of the text; base64 takes a third more, and a JWS has 8 KB.
private func proof(_ name: String, header: String = header, claims: String = claims, bytes: Int = 5_000) -> HostilePlace
{
    made("\(name) of a proof", bytes: bytes, spelled: [.json, .jsonEscapes]) { text in
        let jws = try CompactJWS.sign(header: filled(header, with: text), payload: filled(claims, with: text), by: key)
        let request = ProofRequest(proofs: [jws], method: "POST", url: url)
        return {
            let verifier = DPoPVerifier()
            do throws(ProofRefusal) {
                use(try verifier.check(request, at: time).spend(in: MemoryReplayStore(), at: time))
            } catch {
                use(verifier.discrepancy(error, of: request, at: time))
            }
        }
    }
}

private let proofs = places {
    proof("typ", header: #"{"alg":"ES256","typ":"$","jwk":\#(jwk)}"#)
    proof("alg", header: #"{"alg":"$","typ":"dpop+jwt","jwk":\#(jwk)}"#)
    proof("crit", header: #"{"alg":"ES256","typ":"dpop+jwt","crit":["$"],"jwk":\#(jwk)}"#)
    proof("kid", header: #"{"alg":"ES256","typ":"dpop+jwt","kid":"$","jwk":\#(jwk)}"#)
    proof("an unknown parameter", header: #"{"alg":"ES256","typ":"dpop+jwt","$":"a","jwk":\#(jwk)}"#)
    proof("the key's members", header: #"{"alg":"ES256","typ":"dpop+jwt","jwk":{"kty":"$"}}"#)
    proof("htm", claims: #"{"htm":"$","htu":"\#(url)","iat":1900000000,"jti":"1"}"#)
    proof("htu", claims: #"{"htm":"POST","htu":"$","iat":1900000000,"jti":"1"}"#)
    proof("a path in htu", claims: #"{"htm":"POST","htu":"https://gate.example/$","iat":1900000000,"jti":"1"}"#)
    proof("jti", claims: #"{"htm":"POST","htu":"\#(url)","iat":1900000000,"jti":"$"}"#)
    proof("a short jti", claims: #"{"htm":"POST","htu":"\#(url)","iat":1900000000,"jti":"$"}"#, bytes: 256)
    proof("nonce", claims: #"{"htm":"POST","htu":"\#(url)","iat":1900000000,"jti":"1","nonce":"$"}"#)
    proof("ath", claims: #"{"htm":"POST","htu":"\#(url)","iat":1900000000,"jti":"1","ath":"$"}"#)
    proof("iat", claims: #"{"htm":"POST","htu":"\#(url)","iat":"$","jti":"1"}"#)
    proof(
        "an unknown claim", claims: #"{"htm":"POST","htu":"\#(url)","iat":1900000000,"jti":"1","$":"$"}"#, bytes: 2_500)
}

/// An access token that another key has signed.
private func token(_ name: String, header: String, claims: String) -> HostilePlace {
    made("\(name) of an access token", bytes: 5_000, spelled: [.json, .jsonEscapes]) { text in
        let signing = SigningKey(rawRepresentation: Array(key.rawRepresentation))
        let jws = try CompactJWS.sign(header: filled(header, with: text), payload: filled(claims, with: text), by: key)
        let keys = JWKSet(signing.map { [$0.publicKey] } ?? [])
        let verifier = AccessTokenVerifier(
            issuer: "https://gate.example", audience: "https://gate.example", keys: keys)
        return {
            guard let presented = try? PresentedToken.read(authorization: ["DPoP " + jws]) else { return }
            do throws(AccessTokenRefusal) {
                use(try verifier.verify(presented, at: time))
            } catch {
                use(
                    AccessTokenVerifier.discrepancy(
                        error, of: presented, issuer: "https://gate.example", audience: "a", at: time))
            }
        }
    }
}

private let keyID = (try? PublicJWK(json: Array(jwk.utf8)))?.thumbprint.text ?? ""
private let tokenHeader = #"{"alg":"ES256","typ":"at+jwt","kid":"\#(keyID)"}"#

/// The gateway signs what a device and an operator have named, and reads it again.
private func tokenClaims(_ issuer: String, _ audience: String, _ more: String) -> String {
    #"{"iss":"\#(issuer)","aud":"\#(audience)","iat":1900000000,"exp":1900000100,"jti":"1","client_id":"a",\#(more)}"#
}

private let tokens = places {
    token("kid", header: #"{"alg":"ES256","typ":"at+jwt","kid":"$"}"#, claims: "{}")
    token("typ", header: #"{"alg":"ES256","typ":"$","kid":"a"}"#, claims: "{}")
    token("alg", header: #"{"alg":"$","typ":"at+jwt","kid":"a"}"#, claims: "{}")
    token("iss", header: tokenHeader, claims: tokenClaims("$", "https://gate.example", #""sub":"a""#))
    token("aud", header: tokenHeader, claims: tokenClaims("https://gate.example", "$", #""sub":"a""#))
    token(
        "sub", header: tokenHeader, claims: tokenClaims("https://gate.example", "https://gate.example", #""sub":"$""#))
    token(
        "mode", header: tokenHeader,
        claims: tokenClaims("https://gate.example", "https://gate.example", #""sub":"a","mode":"$""#))
    token(
        "an unknown claim", header: tokenHeader,
        claims: tokenClaims("https://gate.example", "https://gate.example", #""sub":"a","$":1"#))
}
