import Foundation
import StrictJSON
import Testing

@testable import DPoP

/// Every reader of a peer's text is given it cut off at every byte, and with every byte changed.
@Suite("Cut and changed at every byte")
struct EveryByteTests {
    /// The replacements for one byte: each bit flipped, and the characters with a meaning in these texts.
    private func changes(of byte: UInt8) -> [UInt8] {
        let flipped = (0..<8).map { byte ^ 1 << UInt8($0) }
        return Set(flipped + Array("\".,:{}[]\\=-_ %/A0".utf8) + [0, 0x1F, 0x80, 0xFF]).filter { $0 != byte }
    }

    /// `text` with each byte changed, one at a time, where that is still UTF-8, which texts are by type.
    private func changed(_ text: String) -> [String] {
        let bytes = Array(text.utf8)
        return bytes.indices.flatMap { index in
            changes(of: bytes[index]).compactMap { change in
                var changed = bytes
                changed[index] = change
                return String(validating: changed, as: UTF8.self)
            }
        }
    }

    private func cut(_ text: String) -> [String] {
        let bytes = Array(text.utf8)
        return bytes.indices.flatMap { index in
            [String(decoding: bytes[..<index], as: UTF8.self), String(decoding: bytes[(index + 1)...], as: UTF8.self)]
        }
    }

    @Test func `no proof is verified`() throws {
        var proof = try TestProof()
        proof.claims["ath"] = TestProof.hash(of: TestProof.token)
        proof.claims["nonce"] = "\"n\""
        let genuine = try proof.request("DPoP")
        let text = try #require(genuine.proofs.first)
        _ = try DPoPVerifier().verify(genuine)
        for forged in cut(text) + changed(text) {
            var request = genuine
            request.proofs = [forged]
            #expect(throws: ProofRefusal.self) { try DPoPVerifier().verify(request) }
        }
    }

    @Test func `no access token is verified`() throws {
        let key = try #require(SigningKey(rawRepresentation: [UInt8](repeating: 3, count: 32)))
        let claims = AccessTokenClaims(
            issuer: "https://gate.example", audience: ["https://gate.example"], subject: "s", app: "a",
            admissionMethod: "m", tokenID: "t", issuedAt: TestProof.now, expiresAt: TestProof.now + 300,
            boundKey: try TestProof().thumbprint)
        let text = try claims.sign(with: key)
        let verifier = AccessTokenVerifier(
            issuer: claims.issuer, audience: claims.issuer, keys: JWKSet([key.publicKey]))
        for forged in cut(text) + changed(text) where forged != text {
            guard let token = try? PresentedToken.read(authorization: ["DPoP \(forged)"]) else { continue }
            #expect(throws: AccessTokenRefusal.self) { try verifier.verify(token, at: TestProof.now) }
        }
    }

    @Test func `no JWK becomes another key`() throws {
        let text = TestProof.jwk(try TestProof.key(7), also: #","use":"sig","a":[1,{"b":null}]"#)
        let genuine = try PublicJWK(json: Array(text.utf8))
        for cut in cut(text) { #expect((try? PublicJWK(json: Array(cut.utf8))) == nil) }
        for changed in changed(text) {
            if let key = try? PublicJWK(json: Array(changed.utf8)) { #expect(key == genuine) }
        }
    }

    @Test func `no JSON is read that Foundation refuses`() {
        let text = #"{"a":[null,true,false,-0.5,12],"b":{"c":"d\u00e9\ud83d\ude00\n"},"é":"" }"#
        var accepted = 0
        let bytes = Array(text.utf8)
        for index in bytes.indices {
            #expect(throws: JSONFault.self) { try JSONReader.readObject(Array(bytes[..<index])) }
            for change in changes(of: bytes[index]) {
                var changed = bytes
                changed[index] = change
                guard let object = try? JSONReader.readObject(changed) else { continue }
                accepted += 1
                #expect((try? JSONSerialization.jsonObject(with: Data(changed))) != nil, "\(index) \(change)")
                #expect(object.members.count == Set(object.members.map { Array($0.name.utf8) }).count)
            }
        }
        #expect(accepted > 100)
    }

    @Test func `a URI that is read has one normal form`() {
        let text = "HTTPS://Gate.example:8443/a/../b%7e/%c3%a9;c?d#e"
        var read = 0
        for changed in cut(text) + changed(text) {
            guard let uri = TargetURI(changed) else { continue }
            read += 1
            #expect(TargetURI(uri.text) == uri && uri.text.hasPrefix("http") && !uri.text.contains("?"))
        }
        #expect(read > 200)
    }

    @Test func `an Authorization field presents exactly its token`() {
        let text = "DPoP abc.DEF-123_~+/=="
        for changed in cut(text) + changed(text) {
            guard let token = try? PresentedToken.read(authorization: [changed]) else { continue }
            #expect(changed.hasSuffix(" " + token.text) && !token.text.isEmpty && !token.text.contains(" "))
        }
    }
}
