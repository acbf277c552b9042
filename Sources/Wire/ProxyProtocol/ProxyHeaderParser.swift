/// Why a header is invalid. For the log: it contains no received data.
package enum ProxyHeaderFault: Error, Hashable, Sendable {
    /// The first bytes match neither version.
    case signature
    /// A malformed version 1 line, or one that doesn't end with CRLF.
    case line
    /// Longer than ``ProxyHeaderLimits``.
    case tooLong
    /// A version 2 command other than LOCAL or PROXY.
    case command
    /// A family or protocol other than TCP over IPv4 or IPv6.
    case family
    /// Too short for the addresses of its family.
    case addresses
    /// A TLV that extends beyond the end, or is too long for its type.
    case tlv
    case checksum
    /// Input after the parser had already finished.
    case afterEnd
}

package enum ProxyHeaderProgress: Hashable, Sendable {
    case needsMore
    /// `consumedBytes` of the last input belong to the header; the following bytes are the connection's first.
    case complete(ProxyHeader, consumedBytes: Int)
    /// The connection must not be used. Later bytes are not examined.
    case malformed(ProxyHeaderFault)
}

/// Parses one header of either version at the start of a connection, however its bytes are split.
///
/// It stops at the first byte that can't belong to a header, and holds at most ``ProxyHeaderLimits/maximumBytes``. One
/// value per connection: use it on that connection's thread, and only if the peer is trusted to name its clients.
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

    /// - Parameter maximumBytes: the limit for a version 2 header; less than its fixed 16 bytes refuses every header.
    package init(maximumBytes: Int = ProxyHeaderLimits.maximumBytes) { self.maximumBytes = maximumBytes }

    /// - Parameter bytes: the connection's next bytes; each byte is passed once.
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

    /// Returns the header if `byte` is its last.
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
            // LOCAL may have any family; it is ignored.
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
