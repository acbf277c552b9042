import StrictJSON
import Telnet
import WireText

/// The protocol of one client: turns its messages into commands, and the target's events into messages.
///
/// A dialect knows only the session state that its own messages need; the rest belongs to ``Translation``.
protocol Dialect {
    /// - Parameter compressor: for a dialect that deflates its messages.
    init(compressor: any FrameCompressor)

    /// The client names its target; nothing is dialled before that.
    var awaitsConnect: Bool { get }

    /// nil: its sessions end with their connection, because the client can't report what it has seen.
    static var numbering: ReplayBuffer.Numbering? { get }

    /// The dialect has messages for the gateway's own notices.
    var hasNotices: Bool { get }

    /// The dialect has messages for errors.
    var answersErrors: Bool { get }

    /// - Parameter message: complete, with its size checked.
    mutating func command(of message: ArraySlice<UInt8>, isText: Bool) throws(DialectError) -> ClientCommand

    /// - Parameter history: numbers the messages to the client and keeps them.
    mutating func encode(_ event: TargetEvent, keeping history: inout SessionHistory, into frames: inout FrameBuffer)

    func encode(_ error: DialectError, into frames: inout FrameBuffer)

    /// - Returns: the close reason for the connection; nil: it stays open and may connect again.
    func encode(_ failure: DialFailure, into frames: inout FrameBuffer) -> CloseReason?

    /// - Returns: the close reason for the connection; nil: it stays open and may connect or resume again.
    func encode(_ failure: ResumeFailure, into frames: inout FrameBuffer) -> CloseReason?

    func sessionBegan(_ session: SessionIdentity, isResumable: Bool, into frames: inout FrameBuffer)

    /// The client has come back on another connection. Called only if there is a ``numbering``.
    ///
    /// - Parameter lastSeq: the last number that the client has seen.
    func sessionResumed(
        _ session: SessionIdentity, _ history: SessionHistory, after lastSeq: UInt64, into frames: inout FrameBuffer)

    /// The target has closed: puts out the last message before the Close frame.
    func sessionEnded(_ sessionID: String, into frames: inout FrameBuffer)

    /// Whether a client that closes with this code doesn't come back.
    ///
    /// - Parameter closeCode: of its Close frame; nil: there was no frame, or one without a code.
    func endsSession(closeCode: UInt16?) -> Bool

    /// Sends the client a ticket for its next upgrade.
    ///
    /// - Parameter expiresIn: seconds.
    func encode(ticket: String, expiresIn: Int, into frames: inout FrameBuffer)

    /// The gateway is about to close.
    func encode(reconnectAfterMilliseconds: Int, into frames: inout FrameBuffer)

    /// The input with this number was applied, now or earlier.
    func encode(inputAck cid: UInt64, into frames: inout FrameBuffer)
}

extension Dialect {
    var awaitsConnect: Bool { false }
    var hasNotices: Bool { false }
    var answersErrors: Bool { true }

    func encode(_ failure: DialFailure, into frames: inout FrameBuffer) -> CloseReason? {
        encode(failure.error, into: &frames)
        return failure.close
    }

    func encode(_ failure: ResumeFailure, into frames: inout FrameBuffer) -> CloseReason? {
        encode(failure.error, into: &frames)
        return failure.close
    }

    func sessionBegan(_ session: SessionIdentity, isResumable: Bool, into frames: inout FrameBuffer) {}
    func sessionResumed(
        _ session: SessionIdentity, _ history: SessionHistory, after lastSeq: UInt64, into frames: inout FrameBuffer
    ) {}
    func sessionEnded(_ sessionID: String, into frames: inout FrameBuffer) {}
    func endsSession(closeCode: UInt16?) -> Bool { true }
    func encode(ticket: String, expiresIn: Int, into frames: inout FrameBuffer) {}
    func encode(reconnectAfterMilliseconds: Int, into frames: inout FrameBuffer) {}
    func encode(inputAck cid: UInt64, into frames: inout FrameBuffer) {}
}

extension JSONObject {
    /// - Parameter message: a client's message that must be a JSON object.
    init(message: ArraySlice<UInt8>) throws(DialectError) {
        let value: JSONValue
        do { value = try JSONReader.read(message) } catch { throw DialectError(error) }
        guard case .object(let object) = value else { throw .notAnObject }
        self = object
    }
}

extension ArraySlice<UInt8> {
    /// The bytes themselves if they are valid UTF-8; otherwise with U+FFFD in place of invalid bytes.
    var repairedUTF8: ArraySlice<UInt8> {
        isValidUTF8 ? self : Array(String(decoding: self, as: UTF8.self).utf8)[...]
    }

    /// The first bytes of valid UTF-8, at most `limit` (at least 4), without splitting a character.
    func prefix(wholeCharactersIn limit: Int) -> ArraySlice<UInt8> {
        guard count > limit else { return self }
        var end = startIndex + limit
        while self[end] & 0xC0 == 0x80 { end -= 1 }
        return self[..<end]
    }

    /// The text begins like a JSON object.
    var looksLikeObject: Bool { firstNonBlank == UInt8(ascii: "{") }

    /// Blank means JSON white space.
    var firstNonBlank: UInt8? {
        first { $0 != 0x20 && $0 != 0x0A && $0 != 0x0D && $0 != 0x09 }
    }
}

/// The protocol that the client of one connection speaks. Chosen once for the connection's life.
package enum DialectKind: String, Codable, Hashable, Sendable, CaseIterable {
    /// The target's bytes unchanged in both directions: the client handles telnet itself.
    case raw
    /// UTF-8 and ANSI.
    case terminal
    /// Terminal, plus GMCP as text messages.
    case gmcp
    /// Terminal, plus all out-of-band data as JSON envelopes.
    case json
    /// The typed JSON protocol of mud-web-proxy 4.
    case typed
    /// The older protocol of mud-web-proxy: `connect` as JSON, then text in and deflated text out.
    case legacy

    /// The subprotocols (RFC 6455 §1.9) that name a dialect. Other dialects are detected from the first message.
    package static let subprotocols: [(name: String, kind: DialectKind)] = [
        ("telnet.mudstandards.org", .raw), ("telnet", .raw), ("binary", .raw), ("terminal.mudstandards.org", .terminal),
        ("gmcp.mudstandards.org", .gmcp), ("json.mudstandards.org", .json),
    ]

    /// - Parameter subprotocol: as in `Sec-WebSocket-Protocol`, case-sensitive.
    package init?(subprotocol: String) {
        guard let known = Self.subprotocols.first(where: { $0.name.hasSameBytes(as: subprotocol) }) else { return nil }
        self = known.kind
    }

    /// nil for ``raw``, which isn't translated.
    var dialect: (any Dialect.Type)? {
        switch self {
        case .raw: nil
        case .terminal: TerminalDialect.self
        case .gmcp: GMCPDialect.self
        case .json: JSONDialect.self
        case .typed: TypedDialect.self
        case .legacy: LegacyDialect.self
        }
    }

    /// Its sessions can be resumed: they outlive their client's connection.
    package var resumes: Bool { dialect?.numbering != nil }
}

/// `terminal.mudstandards.org`: UTF-8 with ANSI sequences in both directions, as on a terminal. It has no messages for
/// out-of-band data.
struct TerminalDialect: Dialect {
    static let numbering: ReplayBuffer.Numbering? = nil

    init(compressor: any FrameCompressor) {}

    var answersErrors: Bool { false }

    /// Text messages are input, like binary ones.
    func command(of message: ArraySlice<UInt8>, isText: Bool) -> ClientCommand {
        .input(message.repairedUTF8)
    }

    func encode(_ event: TargetEvent, keeping history: inout SessionHistory, into frames: inout FrameBuffer) {
        guard case .text(let text) = event else { return }
        frames.append(isText: false) { $0.append(contentsOf: text) }
    }

    /// A terminal displays all it receives, so errors can't be sent.
    func encode(_ error: DialectError, into frames: inout FrameBuffer) {}
}
