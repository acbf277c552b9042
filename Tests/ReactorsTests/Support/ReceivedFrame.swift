/// A frame as a client reads it (RFC 6455 §5.2), parsed without the code under test.
struct ReceivedFrame: Equatable {
    let isFinal: Bool
    let opcode: UInt8
    let payload: [UInt8]

    /// The complete frames at the front of `bytes`, and their total size; nil if one is masked, reserved or not
    /// minimal.
    static func all(in bytes: [UInt8]) -> (frames: [ReceivedFrame], consumed: Int)? {
        var frames: [ReceivedFrame] = []
        var position = 0
        while bytes.count >= position + 2 {
            let first = bytes[position]
            var length = Int(bytes[position + 1])
            guard first & 0x70 == 0, length <= 126 else { return nil }
            var start = position + 2
            if length == 126 {
                guard bytes.count >= start + 2 else { break }
                length = Int(bytes[start]) << 8 | Int(bytes[start + 1])
                guard length >= 126 else { return nil }
                start += 2
            }
            guard bytes.count >= start + length else { break }
            frames.append(
                ReceivedFrame(
                    isFinal: first & 0x80 != 0, opcode: first & 0xF, payload: Array(bytes[start..<start + length])))
            position = start + length
        }
        return (frames, position)
    }

    /// The messages of the data frames, with fragments joined; nil if the order violates RFC 6455 §5.4.
    static func messages(in frames: [ReceivedFrame]) -> [ReceivedMessage]? {
        var messages: [ReceivedMessage] = []
        var open: ReceivedMessage?
        for frame in frames where frame.opcode & 8 == 0 {
            guard (frame.opcode == 0) == (open != nil) else { return nil }
            var message = open ?? ReceivedMessage(isText: frame.opcode == 1, payload: [])
            message.payload += frame.payload
            open = frame.isFinal ? nil : message
            if frame.isFinal { messages.append(message) }
        }
        return open == nil ? messages : nil
    }
}

struct ReceivedMessage: Equatable, Sendable {
    let isText: Bool
    var payload: [UInt8]
}
