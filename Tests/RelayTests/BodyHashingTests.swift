import HTTPWire
import Testing

@testable import Admission
@testable import Relay

/// Whose bodies are hashed on the internal listener: it costs the gateway more than reading them.
@Suite("Bodies of signed requests on the internal listener")
struct BodyHashingTests {
    private static let secret = String(repeating: "t", count: 32)
    private static let shown = "\(InternalToken.field): \(secret)\r\n"
    private static let signed = "X-AppAttest-ClientData: {\"challenge\":\"a\"}\r\n"

    private struct NoHead: Error {}

    private func head(_ fields: String, at path: String = "/authz") throws -> RequestHead {
        var parser = RequestParser()
        let request = Array("POST \(path) HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\(fields)\r\n".utf8)
        guard case .head(let head) = parser.parse(request.span).event else { throw NoHead() }
        return head
    }

    private func isHashed(
        _ fields: String = signed, at path: String = "/authz", if access: InternalAccess = InternalAccess(),
        isCertified: Bool = false
    ) throws -> Bool {
        BodyHashing(for: try head(fields, at: path), of: access, isCertified: isCertified) != nil
    }

    @Test func `of a peer that shows what it has to, and of no other`() throws {
        let token = try InternalToken(Self.secret)
        #expect(try isHashed())
        for access in [InternalAccess(token: token), InternalAccess(token: token, acceptsCertificates: true)] {
            #expect(try !isHashed(if: access))
            #expect(try isHashed(Self.shown + Self.signed, if: access))
            #expect(try !isHashed("\(InternalToken.field): x\(Self.secret)\r\n" + Self.signed, if: access))
            // A proxy passes its client's on.
            #expect(try !isHashed("Authorization: Bearer \(Self.secret)\r\n" + Self.signed, if: access))
            #expect(try isHashed(if: access, isCertified: true) == access.acceptsCertificates)
        }
        #expect(try !isHashed(if: InternalAccess(acceptsCertificates: true)))
        #expect(try isHashed(if: InternalAccess(acceptsCertificates: true), isCertified: true))
    }

    @Test func `of questions that are signed, and of no other request`() throws {
        for path in ["/authz?a=b", "/authz/preferences", "/admit/signed/authz", "/status/428/admit/signed/authz"] {
            #expect(try isHashed(at: path), "\(path)")
        }
        for path in ["/health", "/authzz", "/metrics/authz", "/console"] {
            #expect(try !isHashed(at: path), "\(path)")
        }
        #expect(try !isHashed(""))
        #expect(try !isHashed(Self.signed + Self.signed))
        let longest = 1_024
        func data(_ count: Int) -> String { "X-AppAttest-ClientData: \(String(repeating: "a", count: count))\r\n" }
        #expect(try isHashed(data(longest)))
        #expect(try !isHashed(data(longest + 1)))
    }

    @Test func `the bytes that arrive are hashed, in any pieces`() throws {
        let hashing = try #require(
            BodyHashing(for: try head(Self.signed), of: InternalAccess(), isCertified: false))
        for piece in [[UInt8]("a".utf8), [], [UInt8]("bc".utf8)] { piece.withUnsafeBytes { hashing.read($0) } }
        var expected = BodyHash(behind: Array("{\"challenge\":\"a\"}".utf8))
        expected.update([UInt8]("abc".utf8))
        #expect(hashing.finished == expected.finished() && hashing.finished.count == 3)
    }
}
