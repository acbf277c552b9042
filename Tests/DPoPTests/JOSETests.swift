import Crypto
import Foundation
import StrictJSON
import Testing
import WireText

@testable import DPoP

@Suite("JSON in tokens")
struct JSONReaderTests {
    private func fault(_ text: String) -> JSONFault? {
        do throws(JSONFault) {
            _ = try JSONReader.readObject(Array(text.utf8))
            return nil
        } catch { return error }
    }

    @Test func `is read with every kind of value`() throws {
        let text = #" {"a" : [ null,true,false ,-0.5e+3,"\u00e9\ud83d\ude00\"\\\/\b\f\n\r\t",{}],"b":{"a":1}, "":[]} "#
        let object = try JSONReader.readObject(Array(text.utf8))
        #expect(
            object["a"]
                == .array([
                    .null, .bool(true), .bool(false), .number("-0.5e+3"), .string("é😀\"\\/\u{8}\u{c}\n\r\t"),
                    .object(JSONObject()),
                ]))
        #expect(object["b"]?.object?["a"]?.numericDate == 1)
        #expect(object[""] == .array([]) && object["c"] == nil)
    }

    @Test func `is refused if parsers disagree about it`() {
        for text in [
            "", "{", "{}x", "{} {}", "{,}", #"{"a"}"#, #"{"a":}"#, #"{"a":1,}"#, #"{a:1}"#, "{'a':1}", #"{"a":01}"#,
            #"{"a":+1}"#, #"{"a":.5}"#, #"{"a":1.}"#, #"{"a":1e}"#, #"{"a":NaN}"#, #"{"a":[1,]}"#, #"{"a":tru}"#,
            #"{"a":"\x"}"#, #"{"a":"\u12g4"}"#, #"{"a":"\ud800"}"#, #"{"a":"\ud800\u0041"}"#, #"{"a":"\udc00"}"#,
            "{\"a\":\"\u{1}\"}", "{\"a\":\"\n\"}", "\u{FEFF}{}", "{}\0", #"{"a":1 /* b */}"#, #"{"a":"b}"#,
        ] {
            #expect(fault(text) != nil, "\(text)")
        }
        for text in ["[]", "1", "null", "\"a\""] { #expect(fault(text) == .notAnObject) }
        let notUTF8 = Array(#"{"a":""#.utf8) + [0xC3, 0x28] + Array("\"}".utf8)
        #expect(throws: JSONFault.malformedString(at: 5)) { try JSONReader.readObject(notUTF8) }
    }

    @Test func `has no member twice, however it is written, and names are compared byte by byte`() {
        #expect(fault(#"{"a":1,"b":2,"a":3}"#) == .duplicateMember(at: 13))
        #expect(fault(#"{"a":1,"\u0061":1}"#) == .duplicateMember(at: 7))
        #expect(fault(#"{"x":{"a":1,"a":1}}"#) == .duplicateMember(at: 12))
        #expect(fault(#"{"a":{"a":1},"b":{"a":1}}"#) == nil)
        #expect(fault(#"{"K":1,"\u212a":2}"#) == nil)
    }

    @Test func `is bounded in depth, values, digits and length`() {
        func nested(_ depth: Int) -> String {
            #"{"a":"# + String(repeating: "[", count: depth - 1) + String(repeating: "]", count: depth - 1) + "}"
        }
        #expect(fault(nested(JOSELimits.maximumDepth)) == nil)
        #expect(fault(nested(JOSELimits.maximumDepth + 1)) == .tooDeep)
        // Depth is what is open, not what was.
        for element in ["{}", "[]"] {
            #expect(fault(#"{"a":["# + repeatElement(element, count: 20).joined(separator: ",") + "]}") == nil)
        }
        func wide(_ values: Int) -> String {
            #"{"a":["# + repeatElement("1", count: values - 2).joined(separator: ",") + "]}"
        }
        #expect(fault(wide(JOSELimits.maximumValues)) == nil)
        #expect(fault(wide(JOSELimits.maximumValues + 1)) == .tooManyValues)
        func number(_ digits: Int) -> String { #"{"a":"# + String(repeating: "1", count: digits) + "}" }
        #expect(fault(number(JOSELimits.maximumNumberBytes)) == nil)
        #expect(fault(number(JOSELimits.maximumNumberBytes + 1)) == .malformedNumber(at: 5))
        func long(_ bytes: Int) -> String { #"{"a":""# + String(repeating: "b", count: bytes - 8) + "\"}" }
        #expect(fault(long(JOSELimits.maximumBytes)) == nil)
        #expect(fault(long(JOSELimits.maximumBytes + 1)) == .tooLong)
    }

    @Test func `is written as Foundation reads it`() throws {
        var writer = JSONWriter()
        let text = String((0..<128).compactMap { Unicode.Scalar($0).map(Character.init) }) + "é😀"
        writer.member("t\"", text)
        writer.member("n", -5)
        writer.member("l", ["a", "b"])
        let object = try #require(try JSONSerialization.jsonObject(with: Data(writer.object)) as? [String: Any])
        #expect(
            object["t\""] as? String == text && object["n"] as? Int == -5 && object["l"] as? [String] == ["a", "b"])
        #expect(try JSONReader.readObject(writer.object)["t\""] == .string(text))
    }
}

@Suite("A compact JWS")
struct CompactJWSTests {
    @Test func `has three parts of base64url within the limit`() throws {
        #expect(throws: JOSEError.partCount) { try CompactJWS("") }
        #expect(throws: JOSEError.partCount) { try CompactJWS("a.b") }
        #expect(throws: JOSEError.partCount) { try CompactJWS("a.b.c.d") }
        #expect(throws: JOSEError.signatureLength) { try CompactJWS("..") }
        let long = String(repeating: "a", count: JOSELimits.maximumBytes)
        #expect(throws: JOSEError.partCount) { try CompactJWS(long) }
        #expect(throws: JOSEError.tooLong) { try CompactJWS(long + "a") }
    }

    @Test func `is signed by us as it is verified`() throws {
        let key = try TestProof.key(9)
        let text = try CompactJWS.sign(header: Array(#"{"alg":"ES256"}"#.utf8), payload: Array("{}".utf8), by: key)
        let jws = try CompactJWS(text)
        #expect(jws.isSigned(by: key.publicKey) && jws.signature.count == 64)
        #expect(!jws.isSigned(by: try TestProof.key(10).publicKey))
    }
}

@Suite("A public JWK")
struct PublicJWKTests {
    private func error(_ json: String) -> JWKError? {
        do throws(JWKError) {
            _ = try PublicJWK(json: Array(json.utf8))
            return nil
        } catch { return error }
    }

    @Test func `is read from any order of members, and has one canonical form`() throws {
        let key = try TestProof.key(7)
        let canonical = TestProof.jwk(key)
        let one = try PublicJWK(json: Array(canonical.utf8))
        let other = try PublicJWK(
            json: Array(TestProof.jwk(key, also: #", "use":"sig","alg":"ES256","ext":true"#).utf8))
        #expect(one == other && one.canonicalJSON == Array(canonical.utf8))
        #expect(one.x963 == Array(key.publicKey.x963Representation))
        #expect(PublicJWK(key.publicKey) == one && Set([one, other]).count == 1)
        #expect(JWKThumbprint(text: one.thumbprint.text) == one.thumbprint)
        #expect(JWKThumbprint(bytes: one.thumbprint.bytes) == one.thumbprint)
        #expect(JWKThumbprint(bytes: [1]) == nil && JWKThumbprint(text: "AA") == nil)
    }

    @Test func `is of P-256, for signatures, on the curve, in 32 bytes each`() throws {
        let jwk = TestProof.jwk(try TestProof.key(7))
        #expect(error(jwk.replacing("\"EC\"", with: "\"RSA\"")) == .keyType)
        #expect(error(jwk.replacing("P-256", with: "P-384")) == .curve)
        #expect(error(jwk.replacing("P-256", with: "secp256k1")) == .curve)
        #expect(error(jwk.replacing("}", with: #","use":"enc"}"#)) == .otherUse)
        #expect(error(jwk.replacing("}", with: #","alg":"ECDH-ES"}"#)) == .otherUse)
        #expect(error(jwk.replacing("\"x\"", with: "\"z\"")) == .coordinate)
        #expect(error("[]") == .malformedJSON(.notAnObject))
        let zero = base64URL(Data(count: 32))
        #expect(throws: JWKError.notOnCurve) { try PublicJWK(x: zero, y: zero) }
        // The field's prime, which equals 0 unless that is checked: x = 0 is on the curve.
        let prime = base64URL(
            Data(
                [255, 255, 255, 255, 0, 0, 0, 1] + [UInt8](repeating: 0, count: 12) + [UInt8](repeating: 255, count: 12)
            ))
        let y = "ZkhcbdlWQdj4AZDZXN5fpSiZJfj3BCx6XNNGlLhZrX4"
        #expect(throws: JWKError.notOnCurve) { try PublicJWK(x: prime, y: y) }
        #expect(throws: JWKError.coordinate) { try PublicJWK(x: zero + "A", y: zero) }
    }

    @Test func `is written to and read from a set, with its thumbprint as kid`() throws {
        let (one, two) = (PublicJWK(try TestProof.key(1).publicKey), PublicJWK(try TestProof.key(2).publicKey))
        let set = JWKSet([one, two, one])
        #expect(set.keys == [one, two])
        let json = try #require(try JSONSerialization.jsonObject(with: Data(set.json)) as? [String: [[String: String]]])
        #expect(json["keys"]?.map { $0["kid"] } == [one.thumbprint.text, two.thumbprint.text])
        #expect(
            json["keys"]?.first == [
                "kty": "EC", "crv": "P-256", "x": one.x, "y": one.y, "kid": one.thumbprint.text, "use": "sig",
                "alg": "ES256",
            ])
        #expect(JWKSet(json: set.json) == set)
        let renamed = String(decoding: set.json, as: UTF8.self).replacing(
            "\"kid\":\"\(one.thumbprint.text)\"", with: "\"kid\":\"other\"")
        #expect(JWKSet(json: Array(renamed.utf8))?.keys == [two])
        #expect(set.key(two.thumbprint.text) == two && set.key("") == nil)
        #expect(JWKSet(json: Array(#"{"keys":[{"kty":"RSA"}]}"#.utf8))?.keys == [])
        #expect(JWKSet(json: Array(#"{"keys":[{"kty":"EC","d":"A"}]}"#.utf8)) == nil)
        #expect(JWKSet(json: Array("{}".utf8)) == nil)
        func many(_ count: Int) -> [UInt8] {
            Array((#"{"keys":["# + repeatElement("{}", count: count).joined(separator: ",") + "]}").utf8)
        }
        #expect(JWKSet(json: many(JWKSet.maximumKeys)) != nil && JWKSet(json: many(JWKSet.maximumKeys + 1)) == nil)
    }
}
