import WireText

/// The answer of the gateway that has a session to another gateway's upgrade: a 101, behind which the WebSocket's
/// frames follow, or a refusal.
///
/// A refusal's body is for people, and dropped.
package struct RelayedAnswer: Sendable {
    /// Of the answer's header; a gateway's own answers are much shorter.
    package static let maximumHeadBytes = 16_384
    /// A field of a refusal. The gateway has no such session: it has ended, or this is another process than the one
    /// that had it.
    package static let unknownSession = (name: "X-Session", value: "unknown")
    /// The same field. The gateway has the session, and this isn't its token: whoever the client is, it won't get it.
    package static let wrongToken = (name: "X-Session", value: "refused")

    package enum Fault: Error, Hashable, Sendable {
        case malformedHead
        case headTooLong
    }

    /// The header so far, while it isn't complete.
    private var head: [UInt8] = []
    /// Nil while the header isn't complete.
    package private(set) var status: Int?
    /// Of a refusal, as for clients.
    package private(set) var refusalCode: String?
    package private(set) var isSessionUnknown = false
    package private(set) var isTokenWrong = false

    package init() {}

    package var isSwitched: Bool { status == 101 }

    package var heldBytes: Int { head.count }

    /// - Parameter bytes: the next ones from the other gateway.
    /// - Returns: those behind the header of a 101.
    package mutating func take(_ bytes: some Collection<UInt8>) throws(Fault) -> [UInt8] {
        guard status == nil else { return isSwitched ? Array(bytes) : [] }
        guard !bytes.isEmpty else { return [] }
        let from = max(head.count - 3, 0)
        head += bytes
        guard let end = Self.headEnd(head, from: from) else {
            guard head.count <= Self.maximumHeadBytes else { throw .headTooLong }
            return []
        }
        guard end <= Self.maximumHeadBytes else { throw .headTooLong }
        guard let status = Self.status(head) else { throw .malformedHead }
        self.status = status
        let rest = Array(head[end...])
        if !isSwitched { readFields(head[..<end]) }
        head = []
        return isSwitched ? rest : []
    }

    private mutating func readFields(_ head: ArraySlice<UInt8>) {
        for line in head.split(separator: UInt8(ascii: "\n")) {
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { continue }
            let name = String(decoding: line[..<colon], as: UTF8.self)
            let value = line[(colon + 1)...].filter { $0 > 0x20 && $0 < 0x7F }
            if ASCIIByte.isSame(name, "x-refusal-code") { refusalCode = String(decoding: value, as: UTF8.self) }
            if ASCIIByte.isSame(name, Self.unknownSession.name) {
                isSessionUnknown = value.elementsEqual(Self.unknownSession.value.utf8)
                isTokenWrong = value.elementsEqual(Self.wrongToken.value.utf8)
            }
        }
    }

    private static func headEnd(_ bytes: [UInt8], from start: Int) -> Int? {
        let end = Array("\r\n\r\n".utf8)
        guard bytes.count >= end.count else { return nil }
        return (start...(bytes.count - end.count)).first { bytes[$0..<($0 + end.count)].elementsEqual(end) }
            .map { $0 + end.count }
    }

    /// RFC 9112 §4. An interim answer isn't one that a gateway gives to an upgrade.
    private static func status(_ bytes: [UInt8]) -> Int? {
        let version = Array("HTTP/1.1 ".utf8)
        guard bytes.starts(with: version), bytes.count > version.count + 3 else { return nil }
        let digits = bytes[version.count..<(version.count + 3)]
        guard digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else { return nil }
        let status = digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
        return status == 101 || (200...599).contains(status) ? status : nil
    }
}
