import Telnet

/// The language of one client: its messages into commands, the target's events into messages.
///
/// A dialect knows nothing of the session's state beyond what its own messages need; that is ``Translation``'s.
protocol Dialect {
    /// The client names its target; until then nothing is dialled for it.
    var awaitsConnect: Bool { get }

    /// nil: its sessions end with their connection, as there is no way to say what the client has seen.
    var numbering: ReplayBuffer.Numbering? { get }

    /// There is a place for what the gateway itself has to say.
    var hasNotices: Bool { get }

    /// There is a place for errors.
    var answersErrors: Bool { get }

    /// - Parameter message: complete, and of a size that was checked.
    mutating func command(of message: ArraySlice<UInt8>, isText: Bool) throws(DialectError) -> ClientCommand

    /// - Parameter history: numbers what the client is told, and keeps it.
    mutating func encode(_ event: TargetEvent, keeping history: inout SessionHistory, into frames: inout FrameBuffer)

    func encode(_ error: DialectError, into frames: inout FrameBuffer)

    /// - Returns: how the connection is to be closed; nil: it goes on, and may connect again.
    func encode(_ failure: DialFailure, into frames: inout FrameBuffer) -> CloseReason?

    /// - Returns: how the connection is to be closed; nil: it goes on, and may connect or resume again.
    func encode(_ failure: ResumeFailure, into frames: inout FrameBuffer) -> CloseReason?

    func sessionBegan(_ session: SessionIdentity, isResumable: Bool, into frames: inout FrameBuffer)

    /// The client has come back, on another connection. Only where there is a ``numbering``.
    ///
    /// - Parameter lastSeq: the last number that it has seen.
    func sessionResumed(
        _ session: SessionIdentity, _ history: SessionHistory, after lastSeq: UInt64, into frames: inout FrameBuffer)

    /// The target has closed: the last message before the Close frame.
    func sessionEnded(_ sessionID: String, into frames: inout FrameBuffer)

    /// Whether a client that closes so doesn't come back.
    ///
    /// - Parameter closeCode: of its Close frame; nil: there was none, or one without a code.
    func endsSession(closeCode: UInt16?) -> Bool

    /// Hands the client a ticket for its next upgrade.
    ///
    /// - Parameter expiresIn: seconds.
    func encode(ticket: String, expiresIn: Int, into frames: inout FrameBuffer)

    /// The gateway is about to close.
    func encode(reconnectAfterMilliseconds: Int, into frames: inout FrameBuffer)

    /// An input with this number was applied, now or before.
    func encode(inputAck cid: UInt64, into frames: inout FrameBuffer)
}

extension Dialect {
    var awaitsConnect: Bool { false }
    var numbering: ReplayBuffer.Numbering? { nil }
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
    /// - Parameter message: a client's message that is to be an object.
    init(message: ArraySlice<UInt8>) throws(DialectError) {
        let value: JSONValue
        do { value = try JSONReader.read(message) } catch { throw DialectError(error) }
        guard case .object(let object) = value else { throw .notAnObject }
        self = object
    }
}

extension ArraySlice<UInt8> {
    /// Itself if it is valid UTF-8, else with U+FFFD in place of what isn't.
    var repairedUTF8: ArraySlice<UInt8> {
        isValidUTF8 ? self : Array(String(decoding: self, as: UTF8.self).utf8)[...]
    }

    /// The first bytes of valid UTF-8, at most `limit` (4 at least), without cutting a character.
    func prefix(wholeCharactersIn limit: Int) -> ArraySlice<UInt8> {
        guard count > limit else { return self }
        var end = startIndex + limit
        while self[end] & 0xC0 == 0x80 { end -= 1 }
        return self[..<end]
    }

    /// Begins as a JSON object does.
    var looksLikeObject: Bool { firstNonBlank == UInt8(ascii: "{") }

    /// Blank is what JSON takes for space.
    var firstNonBlank: UInt8? {
        first { $0 != 0x20 && $0 != 0x0A && $0 != 0x0D && $0 != 0x09 }
    }
}
