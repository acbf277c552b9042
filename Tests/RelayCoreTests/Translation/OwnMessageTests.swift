import RelayCore
import Telnet
import Testing

@Suite("The gateway's own messages to a target")
struct OwnMessageTests {
    private static let names = [
        "Portcullis.Session", "portcullis.session", "PORTCULLIS.SESSION", "pOrTcUlLiS.Anything.Else", "Portcullis.",
        "Portcullis",
    ]

    /// In each dialect that has GMCP, a client's message with this name and these data.
    private static let forms: [(kind: DialectKind, message: @Sendable (String) -> String)] = [
        (.gmcp, { #"\#($0) {"state":"detached"}"# }),
        (.json, { #"{"proto":"gmcp","id":"\#($0)","data":{"state":"detached"}}"# }),
        (.typed, { #"{"type":"gmcp","package":"\#($0)","data":{"state":"detached"}}"# }),
        (.legacy, { #"{"gmcp":"\#($0) {\"state\":\"detached\"}"}"# }),
    ]

    private func session(_ kind: DialectKind, hasGMCP: Bool = true) throws -> Conversation {
        var session = try Conversation(kind)
        if kind == .typed { _ = session.say(#"{"type":"connect","host":"h","port":1}"#) }
        if kind == .legacy { _ = session.say(#"{"connect":1}"#) }
        _ = session.connect()
        if hasGMCP { _ = session.hear([255, 251, 201]) }
        return session
    }

    @Test func `are refused from clients in every dialect and spelling`() throws {
        for (kind, message) in Self.forms {
            for name in Self.names {
                var session = try session(kind)
                let answer = session.say(message(name))
                #expect(!answer.contains { $0.hasPrefix("D") }, "\(kind) \(name): \(answer)")
                #expect(answer.count == 1, "\(kind) \(name): \(answer)")
                // Also names without data.
                let bare = message(name).replacing(#" {"state":"detached"}"#, with: "")
                #expect(!session.say(bare).contains { $0.hasPrefix("D") })
            }
        }
    }

    @Test func `are refused also while the target is dialled or hasn't agreed to GMCP`() throws {
        for (kind, message) in Self.forms {
            var session = try session(kind, hasGMCP: false)
            _ = session.say(message("Portcullis.Session"))
            #expect(session.hear([255, 251, 201]) == [#"D \xff\xfd\xc9"#], "\(kind)")
            guard kind == .gmcp || kind == .json else { continue }
            session = try Conversation(kind)
            _ = session.say(message("Portcullis.Session"))
            _ = session.connect()
            #expect(session.hear([255, 251, 201]) == [#"D \xff\xfd\xc9"#], "\(kind)")
        }
    }

    @Test func `don't reserve names that only resemble theirs or follow spaces`() throws {
        for (kind, message) in Self.forms {
            for name in ["Portcullisx.Session", "Portculli.Session", "Core.Portcullis", "X.Portcullis.Session"] {
                var session = try session(kind)
                let expected = #"D \xff\xfa\xc9\#(name) {"state":"detached"}\xff\xf0"#
                #expect(session.say(message(name)) == [expected], "\(kind)")
            }
            var session = try session(kind)
            for name in [" Portcullis.Session", "\u{A0}Portcullis.Session"] {
                #expect(!session.say(message(name)).contains { $0.hasPrefix("D") }, "\(kind)")
            }
        }
    }

    @Test func `can't be sent as text in any dialect, since text is escaped for telnet`() throws {
        for kind in [DialectKind.terminal, .gmcp, .json] {
            var session = try session(kind)
            let forged = [255, 250, 201] + Array("Portcullis.Session".utf8) + [255, 240]
            session.translation.receive(forged[...], isText: false, isLast: true, into: &session.output)
            #expect(!session.output.toTarget.contains([255, 250]), "\(kind)")
        }
    }
}
