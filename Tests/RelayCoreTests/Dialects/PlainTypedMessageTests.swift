import StrictJSON
import Testing

@testable import RelayCore

@Suite("The typed protocol's plain messages, read without building anything")
struct PlainTypedMessageTests {
    private static let plainForms: [String] = [
        #"{"type":"input","text":"look"}"#, #"{"text":"","type":"input"}"#,
        #" { "cid" : 7 , "text":"é～","type":"input" } "#,
        #"{"type":"input","text":"a","cid":999999999999999}"#,
        #"{"type":"syncAck","sessionId":"3e0f6c1a-7f55-4a44-9b1c-0d9a5be0f7a1","lastSeq":64}"#,
        #" {"lastSeq" : 0,"sessionId":"~ é","type" :"syncAck" }"#,
        #"{"sessionId":"!","type":"syncAck","lastSeq":999999999999999}"#,
    ]

    /// All that the general reader may see another way, or refuses.
    private static let otherForms: [String] = [
        #"{"type":"input","text":"a\n"}"#, #"{"type":"\u0069nput","text":"a"}"#, #"{"type":"input","te\u0078t":"a"}"#,
        #"{"type":"input","text":"a","text":"b"}"#, #"{"type":"input","type":"naws","text":"a"}"#,
        #"{"type":"input","text":"a","cid":1,"cid":2}"#, #"{"type":"input","text":"a","cid":0}"#,
        #"{"type":"input","text":"a","cid":-1}"#, #"{"type":"input","text":"a","cid":1.0}"#,
        #"{"type":"input","text":"a","cid":1e0}"#, #"{"type":"input","text":"a","cid":null}"#,
        #"{"type":"input","text":"a","cid":1000000000000000}"#, #"{"type":"input","text":"a","more":[]}"#,
        #"{"type":"input","text":"a"}x"#, #"{"type":"input","text":"a"},"#, #"{"type":"input","text":"a""#,
        #"{"type":"input"}"#, #"{"text":"a"}"#, #"{"type":"input","text":1}"#, #"{"type":"Input","text":"a"}"#, "{}",
        "[]", "",
        #"["type","input","text","a"]"#, #"{"type":"input","text":"a",}"#, #"{"type":["input"],"text":"a"}"#,
        #"{"type":"input","text":"a","lastSeq":1}"#, #"{"type":"input","text":"a","sessionId":"b"}"#,
        #"{"type":"syncAck","sessionId":"a"}"#, #"{"type":"syncAck","lastSeq":1}"#,
        #"{"sessionId":"a","lastSeq":1}"#, #"{"type":"syncack","sessionId":"a","lastSeq":1}"#,
        #"{"type":"syncAck","sessionId":"","lastSeq":1}"#, #"{"type":"syncAck","sessionId":" a","lastSeq":1}"#,
        #"{"type":"syncAck","sessionId":"é","lastSeq":1}"#, #"{"type":"syncAck","sessionId":"\u0061","lastSeq":1}"#,
        #"{"type":"syncAck","sessionId":null,"lastSeq":1}"#, #"{"type":"syncAck","sessionId":1,"lastSeq":1}"#,
        #"{"type":"syncAck","sessionId":"a","sessionId":"b","lastSeq":1}"#,
        #"{"type":"syncAck","sessionId":"a","lastSeq":1,"lastSeq":2}"#,
        #"{"type":"syncAck","sessionId":"a","lastSeq":-1}"#, #"{"type":"syncAck","sessionId":"a","lastSeq":1.0}"#,
        #"{"type":"syncAck","sessionId":"a","lastSeq":"1"}"#, #"{"type":"syncAck","sessionId":"a","lastSeq":null}"#,
        #"{"type":"syncAck","sessionId":"a","lastSeq":1000000000000000}"#,
        #"{"type":"syncAck","sessionId":"a","lastSeq":1,"cid":1}"#,
        #"{"type":"syncAck","sessionId":"a","lastSeq":1,"text":"b"}"#,
        #"{"type":"syncAck","sessionId":"a","lastSeq":1,"more":1}"#,
        #"{"type":"syncAck","sessionId":"a","lastSeq":1}1"#, #"{"type":"syncAck","type":"syncAck"}"#,
        #"{"type":"disconnect"}"#, #"{"type":"naws","width":80,"height":24}"#,
    ]

    @Test(arguments: plainForms)
    func `are read as by the general reader`(_ message: String) throws {
        let bytes = Array(message.utf8)[...]
        let command = try #require(PlainTypedMessage(bytes)?.command)
        #expect(try TypedMessage(JSONObject(message: bytes)).command() == command)
    }

    @Test(arguments: otherForms)
    func `don't cover any other form`(_ message: String) {
        #expect(PlainTypedMessage(Array(message.utf8)[...])?.command == nil)
    }

    @Test func `contain the message's fields, as slices of it`() {
        let input = Array(#"{"type":"input","text":"look","cid":7}"#.utf8)[...]
        #expect(PlainTypedMessage(input)?.command == .input(input[24..<28], cid: 7))
        let acknowledgement = Array(#"{"type":"syncAck","sessionId":"ab","lastSeq":64}"#.utf8)[...]
        #expect(
            PlainTypedMessage(acknowledgement)?.command
                == .acknowledge(sessionID: acknowledgement[31..<33], lastSeq: 64))
    }

    @Test(arguments: ["text", "sessionId"])
    func `are left to the general reader where they aren't UTF-8`(_ member: String) {
        let type = member == "text" ? #""input""# : #""syncAck","lastSeq":1"#
        let message = Array(#"{"type":\#(type),"\#(member)":"a"#.utf8) + [0xC3, 0x28] + Array(#""}"#.utf8)
        #expect(PlainTypedMessage(message[...]) == nil)
    }

    @Test func `are read as by the general reader after every small change and cut`() throws {
        for message in Self.plainForms {
            let bytes = Array(message.utf8)
            for index in bytes.indices {
                check(bytes[..<index])
                check(bytes[index...])
                for change: UInt8 in [0x01, 0x02, 0x20, 0x80] {
                    var changed = bytes
                    changed[index] ^= change
                    check(changed[...])
                }
            }
            exchange(bytes)
        }
    }

    private func exchange(_ bytes: [UInt8]) {
        for first in bytes.indices {
            for second in bytes.indices[first...] where bytes[first] != bytes[second] {
                var exchanged = bytes
                exchanged.swapAt(first, second)
                check(exchanged[...])
            }
        }
    }

    @Test func `are read as by the general reader in every order of members`() {
        let members = [
            #""type":"input""#, #""type":"syncAck""#, #""text":"a""#, #""text":"\t""#, #""cid":1"#, #""cid":0"#,
            #""sessionId":"a""#, #""sessionId":" ""#, #""sessionId":"\ta""#, #""lastSeq":0"#, #""lastSeq":-0"#,
            #""lastSeq":1e2"#,
        ]
        for first in members {
            for second in members {
                for third in members { check(Array("{\(first),\(second),\(third)}".utf8)[...]) }
            }
        }
    }

    private func check(_ message: ArraySlice<UInt8>) {
        guard let command = PlainTypedMessage(message)?.command else { return }
        let expected = try? TypedMessage(JSONObject(message: message)).command()
        #expect(expected == command, "\(Array(message))")
    }
}
