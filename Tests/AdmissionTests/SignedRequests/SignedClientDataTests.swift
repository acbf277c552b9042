import DPoP
import Foundation
import Testing

@testable import Admission

@Suite("Client data of signed requests")
struct SignedClientDataTests {
    private let digest = SignedBench.digest("body")

    private func isRead(_ text: String) -> Bool { (try? SignedClientData(text)) != nil }

    @Test func `one member is recipe 1, four are recipe 2, in any order and with escapes`() throws {
        let first = try SignedClientData(#"{"challenge":"a\/b+c="}"#)
        #expect(first.challenge == "a/b+c=" && first.isOfBody)
        for text in [
            #"{"challenge":"a","htm":"PUT","htu":"https://a.example/b","digest":"\#(digest)"}"#,
            #" { "digest" : "\#(digest)" , "htu" : "https:\/\/a.example\/b", "htm":"PUT", "challenge":"\u0061" } "#,
        ] {
            let second = try SignedClientData(text)
            guard case .request(let method, let url, let digest) = second.recipe else {
                Issue.record("\(second)")
                continue
            }
            #expect(second.challenge == "a" && method == "PUT" && url.text == "https://a.example/b")
            #expect(digest.text == self.digest)
        }
    }

    @Test func `anything between the recipes is refused`() {
        for text in [
            #"{}"#, #"[]"#, #""challenge""#, #"{"challenge":1}"#, #"{"challenge":null}"#, #"{"challenge":["a"]}"#,
            #"{"challenge":"a","challenge":"a"}"#, #"{"challenge":"a","challeng\u0065":"b"}"#,
            #"{"challenge":"a","digest":"absent"}"#, #"{"challenge":"a","htu":"https://a.example/"}"#,
            #"{"challenge":"a","htm":"GET"}"#, #"{"challenge":"a","htm":"GET","htu":"https://a.example/"}"#,
            #"{"challenge":"a","htm":"GET","htu":"https://a.example/","digest":"absent","more":"b"}"#,
            #"{"challenge":"a","htm":null,"htu":"https://a.example/","digest":"absent"}"#,
            #"{"htm":"GET","htu":"https://a.example/","digest":"absent"}"#,
            #"{"challenge":"a","htm":"GET","htu":"/","digest":"absent"}"#,
            #"{"challenge":"a","htm":"GET","htu":"https://a.example/","digest":""}"#,
            #"{"challenge":"ä"}"#, "{\"challenge\":\"a\"}\n", #"{"challenge":"a"}}"#, #"{"challenge":"a"} {}"#, "",
            #"{"type":"webauthn.get","challenge":"a","origin":"https://a.example"}"#,
        ] { #expect(!isRead(text), "\(text)") }
    }

    @Test func `1,024 bytes are read, and one more isn't`() {
        let rest = #"{"challenge":""}"#.utf8.count
        #expect(isRead(#"{"challenge":"\#(String(repeating: "a", count: 1_024 - rest))"}"#))
        #expect(!isRead(#"{"challenge":"\#(String(repeating: "a", count: 1_025 - rest))"}"#))
    }

    @Test func `cut at every byte, nothing is read`() {
        let text = SignedBench.clientData("abc/+=", "PUT", "https://a.example/b", digest)
        #expect(isRead(text))
        for count in 0..<text.utf8.count { #expect(!isRead(String(text.prefix(count)))) }
    }

    @Test func `no damaged byte makes another recipe of the text`() throws {
        var dice = Dice(31)
        let text = Array(SignedBench.clientData("abc/+=", "PUT", "https://a.example/b", digest).utf8)
        for _ in 0..<5_000 {
            var damaged = text
            damaged[Int.random(in: damaged.indices, using: &dice)] = UInt8.random(in: 0x20...0x7E, using: &dice)
            guard let read = try? SignedClientData(String(decoding: damaged, as: UTF8.self)) else { continue }
            #expect(!read.isOfBody)
        }
    }

    @Test func `a digest has one algorithm, in its one form`() throws {
        #expect(ContentDigest("absent") == .absent)
        #expect(ContentDigest(digest) == .sha256(sha256(Array("body".utf8))))
        for text in [
            "", "Absent", "absent ", "sha-256=::", String(digest.dropLast()), digest + " ", " " + digest,
            digest + ", " + digest, digest + ";a=1", "sha-512=" + digest.dropFirst(8),
            "SHA-256" + digest.dropFirst(7), digest.replacingOccurrences(of: "=:", with: "=\""),
        ] { #expect(ContentDigest(text) == nil, "\(text)") }
    }
}
