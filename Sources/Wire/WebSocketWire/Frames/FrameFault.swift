/// The faults that fail the connection (RFC 6455 §7.1.7), each with its close code (§7.4.1).
package enum FrameFault: Error, Hashable, Sendable, CaseIterable {
    /// §5.2: a reserved bit without a meaning from an extension; RSV1 elsewhere than on the first frame of a data
    /// message (RFC 7692 §6.1), or without permessage-deflate.
    case reservedBits
    /// §5.2: opcodes 3 to 7 and 11 to 15.
    case unknownOpcode
    /// §5.5: a fragmented control frame.
    case fragmentedControl
    /// §5.5: a control frame with more than 125 bytes.
    case longControl
    /// §5.4: a continuation without a message to continue.
    case unexpectedContinuation
    /// §5.4: a new message inside an unfinished one.
    case interleavedMessage
    /// §5.1: an unmasked frame from a client.
    case unmasked
    /// §5.1: a masked frame from a server.
    case masked
    /// §5.2: a length that isn't in its shortest form.
    case nonMinimalLength
    /// §5.2: a 64-bit length whose top bit isn't 0.
    case lengthTopBit
    /// §10.4: a message, or what it inflates to, is longer than allowed.
    case messageTooBig
    /// §10.4: more fragments, or more empty fragments, than a message may have.
    case tooManyFragments
    /// §8.1: text that isn't UTF-8.
    case textNotUTF8
    /// §5.5.1: a Close payload of one byte. It must be empty or have at least the two bytes of a code.
    case closeOfOneByte
    /// §7.4: a code that must not be sent.
    case closeCode
    /// §5.5.1: a reason that isn't UTF-8.
    case closeReasonNotUTF8
    /// RFC 7692 §7.2.2: the payload isn't DEFLATE, or ends inside a block. The RFC specifies no code; 1007 fits,
    /// because the payload is inconsistent with the frame's type.
    case corruptDeflate
    /// The message inflates to many times its size. The code is 1009, as for any message that is too big to process.
    case expandsTooMuch
    /// There was no memory to inflate the message.
    case outOfMemory

    package var closeCode: CloseCode {
        switch self {
        case .reservedBits, .unknownOpcode, .fragmentedControl, .longControl, .unexpectedContinuation,
            .interleavedMessage, .unmasked, .masked, .nonMinimalLength, .lengthTopBit, .closeOfOneByte, .closeCode:
            .protocolError
        case .textNotUTF8, .closeReasonNotUTF8, .corruptDeflate: .invalidPayload
        case .messageTooBig, .tooManyFragments, .expandsTooMuch: .messageTooBig
        case .outOfMemory: .internalError
        }
    }

    /// The reason of the Close frame. It tells the peer nothing that it doesn't know.
    package var closeReason: String {
        switch closeCode {
        case .messageTooBig: "message too big"
        case .invalidPayload: self == .corruptDeflate ? "corrupt compressed data" : "text is not UTF-8"
        case .internalError: "out of memory"
        default: "protocol error"
        }
    }
}
