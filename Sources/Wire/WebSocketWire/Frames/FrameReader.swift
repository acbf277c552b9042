import WireText

/// Parses frames incrementally from input split anywhere (RFC 6455 §5). One per connection. It buffers only the
/// payloads of control frames.
///
/// Every header byte is validated when it arrives, so a frame is refused as early as possible: an oversized message by
/// its announced length, before its payload. The events don't depend on how the input is split, except that data pieces
/// are split with it.
package struct FrameReader: Sendable {
    package enum Role: Sendable { case server, client }

    private enum Stage: Sendable { case opcode, length, extendedLength, mask, payload, ended }

    private let role: Role
    private let limits: MessageLimits
    /// permessage-deflate was negotiated, so RSV1 has a meaning (RFC 7692 §6).
    private let allowsCompression: Bool

    private var stage = Stage.opcode
    private var opcode = Opcode.continuation
    private var isFinal = false
    /// Bytes of the extended length or the mask that have not arrived yet.
    private var awaited = 0
    /// The length has 64 bits, not 16.
    private var isLongForm = false
    private var length: UInt64 = 0
    private var mask = MaskKey(random: 0)
    private var maskWord: UInt32 = 0
    /// Bytes of the frame's payload that have not arrived yet.
    private var rest = 0
    private var message = Message()
    private var text = UTF8Validator()
    private var control = ControlPayload()
    /// A fault to report after the valid bytes before it.
    private var pending: FrameFault?
    /// The frames that have begun so far, of any kind and with or without an event.
    package private(set) var frameCount = 0

    /// The current data message, from its first frame to its last.
    private struct Message: Sendable {
        var isOpen = false
        var isText = false
        var isCompressed = false
        /// No piece of it was returned yet.
        var isNew = false
        var bytes = 0
        var fragments = 0
        var emptyFragments = 0
    }

    package init(role: Role = .server, limits: MessageLimits = MessageLimits(), allowsCompression: Bool = false) {
        self.role = role
        self.limits = limits
        self.allowsCompression = allowsCompression
    }

    /// A Close frame or a fault was returned.
    package var hasEnded: Bool { stage == .ended && pending == nil }

    /// Whether there may be another event, if `input` ends at `end`.
    package func hasMore(from position: Int, to end: Int) -> Bool { position < end || pending != nil }

    /// Parses until there is an event. Call it until it returns nil; then all of `input` has been consumed.
    ///
    /// - Parameters:
    ///   - input: decrypted bytes. Data payloads are unmasked in place.
    ///   - position: where to continue in `input`.
    package mutating func next(in input: inout MutableSpan<UInt8>, from position: inout Int) -> FrameEvent? {
        if let fault = pending { return fail(fault) }
        // An empty payload needs no input.
        while position < input.count || (stage == .payload && rest == 0) {
            switch stage {
            case .payload:
                if let event = payload(&input, &position) { return event }
            case .ended:
                position = input.count
            case .mask where awaited == 4 && position &+ 4 <= input.count:
                let at = position
                position &+= 4
                beginPayload(mask: MaskKey(input[at], input[at &+ 1], input[at &+ 2], input[at &+ 3]))
            default:
                let byte = input[position]
                position &+= 1
                do throws(FrameFault) { try header(byte) } catch { return fail(error) }
            }
        }
        return nil
    }

    private mutating func fail(_ fault: FrameFault) -> FrameEvent {
        pending = nil
        stage = .ended
        return .fault(fault)
    }

    // MARK: Header

    private mutating func header(_ byte: UInt8) throws(FrameFault) {
        switch stage {
        case .opcode: try begin(byte)
        case .length: try shortLength(byte)
        case .extendedLength: try extendedLength(byte)
        default:
            maskWord = maskWord >> 8 | UInt32(byte) << 24
            awaited &-= 1
            if awaited == 0 { beginPayload(mask: MaskKey(random: maskWord)) }
        }
    }

    /// FIN, the reserved bits and the opcode.
    private mutating func begin(_ byte: UInt8) throws(FrameFault) {
        frameCount &+= 1
        guard byte & 0x30 == 0 else { throw .reservedBits }
        guard let opcode = Opcode(rawValue: byte & 0x0F) else { throw .unknownOpcode }
        let isFinal = byte & 0x80 != 0
        let isCompressed = byte & 0x40 != 0
        guard !isCompressed || (allowsCompression && (opcode == .text || opcode == .binary)) else {
            throw .reservedBits
        }
        switch opcode {
        case .close, .ping, .pong:
            guard isFinal else { throw .fragmentedControl }
        case .continuation:
            guard message.isOpen else { throw .unexpectedContinuation }
        case .text, .binary:
            guard !message.isOpen else { throw .interleavedMessage }
            message = Message(isOpen: true, isText: opcode == .text, isCompressed: isCompressed, isNew: true)
            text = UTF8Validator()
        }
        self.opcode = opcode
        self.isFinal = isFinal
        stage = .length
    }

    /// The mask bit, and the length or the form of the extended length.
    private mutating func shortLength(_ byte: UInt8) throws(FrameFault) {
        let isMasked = byte & 0x80 != 0
        guard isMasked == (role == .server) else { throw isMasked ? .masked : .unmasked }
        let short = byte & 0x7F
        guard !opcode.isControl || short <= 125 else { throw .longControl }
        guard short > 125 else { return try lengthIsKnown(UInt64(short)) }
        length = 0
        isLongForm = short == 127
        awaited = isLongForm ? 8 : 2
        stage = .extendedLength
    }

    private mutating func extendedLength(_ byte: UInt8) throws(FrameFault) {
        guard awaited < 8 || byte & 0x80 == 0 else { throw .lengthTopBit }
        length = length << 8 | UInt64(byte)
        awaited &-= 1
        guard awaited == 0 else { return }
        // Lengths below 126 use the 7-bit form, those below 65,536 the two-byte form.
        guard length >= (isLongForm ? 65_536 : 126) else { throw .nonMinimalLength }
        try lengthIsKnown(length)
    }

    private mutating func lengthIsKnown(_ length: UInt64) throws(FrameFault) {
        if !opcode.isControl { try count(length) }
        rest = Int(length)
        guard role == .server else { return beginPayload(mask: MaskKey(random: 0)) }
        awaited = 4
        stage = .mask
    }

    /// Counts a data frame against the limits of its message.
    private mutating func count(_ length: UInt64) throws(FrameFault) {
        let limit = message.isCompressed ? limits.compressedBytes : limits.messageBytes
        guard length <= UInt64(limit &- message.bytes) else { throw .messageTooBig }
        message.bytes &+= Int(length)
        message.fragments &+= 1
        if length == 0, !isFinal { message.emptyFragments &+= 1 }
        guard message.fragments <= limits.fragments, message.emptyFragments <= limits.emptyFragments else {
            throw .tooManyFragments
        }
    }

    private mutating func beginPayload(mask: MaskKey) {
        self.mask = mask
        if opcode.isControl { control.removeAll() }
        stage = .payload
    }

    // MARK: Payload

    private mutating func payload(_ input: inout MutableSpan<UInt8>, _ position: inout Int) -> FrameEvent? {
        let range = position..<(position &+ min(rest, input.count &- position))
        if role == .server, !range.isEmpty {
            var bytes = input._mutatingExtracting(range)
            applyMask(mask, to: &bytes)
            mask = mask.advanced(by: range.count)
        }
        position = range.upperBound
        rest &-= range.count
        if rest == 0 { stage = .opcode }
        return opcode.isControl ? controlEvent(input.span, range) : dataEvent(input.span, range)
    }

    /// Control frames are collected here, because they are processed only as a whole.
    private mutating func controlEvent(_ input: Span<UInt8>, _ range: Range<Int>) -> FrameEvent? {
        for index in range { control.append(input[index]) }
        guard rest == 0 else { return nil }
        switch opcode {
        case .ping: return .ping(control)
        case .pong: return .pong(control)
        default:
            stage = .ended
            do throws(FrameFault) { return .close(try PeerClose.read(control)) } catch { return fail(error) }
        }
    }

    private mutating func dataEvent(_ input: Span<UInt8>, _ range: Range<Int>) -> FrameEvent? {
        let isLast = isFinal && rest == 0
        guard !range.isEmpty || isLast else { return nil }
        guard message.isText, !message.isCompressed else { return piece(range, isLast: isLast) }
        var right = text.accept(input.extracting(range))
        // A last byte inside a character is invalid too.
        let endsInside = isLast && !text.isComplete
        guard right < range.count || endsInside else { return piece(range, isLast: isLast) }
        if right == range.count { right = max(right - 1, 0) }
        guard right > 0 else { return fail(.textNotUTF8) }
        stage = .ended
        pending = .textNotUTF8
        return piece(range.lowerBound..<(range.lowerBound + right), isLast: false)
    }

    private mutating func piece(_ range: Range<Int>, isLast: Bool) -> FrameEvent {
        let isFirst = message.isNew
        message.isNew = false
        if isLast { message.isOpen = false }
        return .data(
            DataPiece(
                range: range, isText: message.isText, isCompressed: message.isCompressed, isFirst: isFirst,
                isLast: isLast))
    }
}
