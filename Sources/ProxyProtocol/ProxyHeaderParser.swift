/// Why bytes are no header. For the log: it holds nothing of what was sent.
package enum ProxyHeaderFault: Error, Hashable, Sendable {
    /// They begin like neither version.
    case signature
    /// A line of version 1 that doesn't say what it should, or doesn't end with CRLF.
    case line
    /// Longer than ``ProxyHeaderLimits``.
    case tooLong
    /// Neither LOCAL nor PROXY of version 2.
    case command
    /// A family or protocol other than TCP over IPv4 or IPv6.
    case family
    /// Too short for the addresses of its family.
    case addresses
    /// A TLV that reaches over the end, or is too long for its type.
    case tlv
    case checksum
    /// It had come to an end before.
    case afterEnd
}

package enum ProxyHeaderProgress: Hashable, Sendable {
    case needsMore
    /// So many of the bytes handed in last belong to the header; those behind them are the connection's first.
    case complete(ProxyHeader, consumedBytes: Int)
    /// Nothing of the connection may be used. No byte more is looked at.
    case malformed(ProxyHeaderFault)
}

/// Reads one header of either version from the beginning of a connection, however its bytes are split.
///
/// It gives up at the first byte that can't belong to a header, and holds ``ProxyHeaderLimits/maximumBytes`` at most. A value of one
/// connection: use it on that connection's thread, and only where the peer is trusted to say whom it speaks for.
package struct ProxyHeaderParser: Sendable {
    private enum State {
        case reading
        case ended
    }

    private let maximumBytes: Int
    private var state = State.reading
    private var held: [UInt8] = []
    private var command = ProxyHeaderV2.CommandByte.local
    private var family = ProxyHeaderV2.Family.unspecified

    /// - Parameter maximumBytes: of a version 2 header; less than its fixed 16 bytes refuses every one.
    package init(maximumBytes: Int = ProxyHeaderLimits.maximumBytes) { self.maximumBytes = maximumBytes }

    /// - Parameter bytes: what the connection brought next; each byte is handed in once.
    package mutating func parse(_ bytes: ArraySlice<UInt8>) -> ProxyHeaderProgress {
        guard case .reading = state else { return .malformed(.afterEnd) }
        do throws(ProxyHeaderFault) {
            for (index, byte) in bytes.enumerated() {
                guard let header = try take(byte) else { continue }
                end()
                return .complete(header, consumedBytes: index + 1)
            }
            return .needsMore
        } catch {
            end()
            return .malformed(error)
        }
    }

    private mutating func end() {
        state = .ended
        held = []
    }

    /// The header, when `byte` is its last.
    private mutating func take(_ byte: UInt8) throws(ProxyHeaderFault) -> ProxyHeader? {
        held.append(byte)
        return try held.first == ProxyHeaderV1.prefix.first ? takeInLine(byte) : takeInBlock(byte)
    }

    private func takeInLine(_ byte: UInt8) throws(ProxyHeaderFault) -> ProxyHeader? {
        let position = held.count - 1
        if position < ProxyHeaderV1.prefix.count {
            guard byte == ProxyHeaderV1.prefix[position] else { throw .signature }
            return nil
        }
        let isBehindCR = held[position - 1] == UInt8(ascii: "\r")
        guard isBehindCR == (byte == UInt8(ascii: "\n")) else { throw .line }
        if isBehindCR {
            guard let header = ProxyHeaderV1.decode(held.dropLast(2)) else { throw .line }
            return header
        }
        guard held.count < ProxyHeaderV1.maximumBytes else { throw .tooLong }
        return nil
    }

    private mutating func takeInBlock(_ byte: UInt8) throws(ProxyHeaderFault) -> ProxyHeader? {
        switch held.count - 1 {
        case let position where position < ProxyHeaderV2.signature.count:
            guard byte == ProxyHeaderV2.signature[position] else { throw .signature }
        case ProxyHeaderV2.signature.count:
            guard let command = ProxyHeaderV2.CommandByte(rawValue: byte) else { throw .command }
            self.command = command
        case ProxyHeaderV2.signature.count + 1:
            // LOCAL may name any family, which doesn't count.
            guard let family = command == .local ? .unspecified : ProxyHeaderV2.Family(rawValue: byte) else {
                throw .family
            }
            self.family = family
        default: break
        }
        guard held.count >= ProxyHeaderV2.fixedBytes else { return nil }
        let total = ProxyHeaderV2.fixedBytes + Int(ProxyHeaderV2.bigEndian16(held[(ProxyHeaderV2.fixedBytes - 2)...]))
        guard total <= maximumBytes else { throw .tooLong }
        return held.count == total ? try ProxyHeaderV2.decode(held, command, family) : nil
    }
}
