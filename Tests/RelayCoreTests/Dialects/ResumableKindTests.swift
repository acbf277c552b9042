import Telnet
import Testing

@testable import RelayCore

/// Which dialects' sessions outlive their client's connection.
@Suite struct ResumableKindTests {
    @Test func `a dialect resumes exactly if it numbers what its client has seen`() {
        #expect(Set(DialectKind.allCases.filter(\.resumes)) == [.gmcp, .json, .typed])
        for kind in DialectKind.allCases { #expect(kind.resumes == (kind.dialect?.numbering != nil)) }
    }

    @Test(arguments: DialectKind.allCases.filter { $0 != .raw })
    func `a session that connects can be resumed exactly if its dialect resumes`(kind: DialectKind) throws {
        var translation = try #require(
            Translation(kind: kind, client: ClientDescription(), compressor: Stored(), makeDecompressor: nil))
        var output = TranslationOutput()
        if translation.awaitsConnect {
            let connect = kind == .legacy ? #"{"connect":1}"# : #"{"type":"connect","host":"mud.example","port":4000}"#
            translation.receive(Array(connect.utf8)[...], isText: true, isLast: true, canAnswer: true, into: &output)
        }
        translation.connected(SessionIdentity(id: "id", token: "token"), telnet: TelnetClientSettings(), into: &output)
        #expect(translation.isConnected && translation.isResumable == kind.resumes)
    }
}
