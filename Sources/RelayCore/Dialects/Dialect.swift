import Telnet

/// The language of one client: its messages into commands, the target's events into messages.
///
/// A dialect knows nothing of the session's state beyond what its own messages need; that is ``Translation``'s.
protocol Dialect {
    /// The client names its target; until then nothing is dialled for it.
    var awaitsConnect: Bool { get }

    /// - Parameter message: complete, and of a size that was checked.
    mutating func command(of message: ArraySlice<UInt8>, isText: Bool) throws(DialectError) -> ClientCommand

    mutating func encode(_ event: TargetEvent, into frames: inout FrameBuffer)

    func encode(_ error: DialectError, into frames: inout FrameBuffer)

    /// - Returns: how the connection is to be closed; nil: it goes on, and may connect again.
    func encode(_ failure: DialFailure, into frames: inout FrameBuffer) -> CloseReason?

    mutating func sessionBegan(_ session: SessionIdentity, into frames: inout FrameBuffer)

    /// The target has closed: the last message before the Close frame.
    func sessionEnded(into frames: inout FrameBuffer)

    /// Hands the client a ticket for its next upgrade.
    func encode(ticket: String, into frames: inout FrameBuffer)
}

extension Dialect {
    var awaitsConnect: Bool { false }

    func encode(_ failure: DialFailure, into frames: inout FrameBuffer) -> CloseReason? {
        encode(failure.error, into: &frames)
        return failure.close
    }

    func sessionBegan(_ session: SessionIdentity, into frames: inout FrameBuffer) {}

    func sessionEnded(into frames: inout FrameBuffer) {}

    func encode(ticket: String, into frames: inout FrameBuffer) {}
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

    /// Begins as a JSON object does.
    var looksLikeObject: Bool { firstNonBlank == UInt8(ascii: "{") }

    /// Blank is what JSON takes for space.
    var firstNonBlank: UInt8? {
        first { $0 != 0x20 && $0 != 0x0A && $0 != 0x0D && $0 != 0x09 }
    }
}
