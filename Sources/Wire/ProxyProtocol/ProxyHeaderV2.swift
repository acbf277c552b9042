import WireText

/// Version 2 (section 2.2): binary.
///
/// ```
/// byte  0         12                13                    14       16          28 or 52
///       ┌───────────┬─────────────────┬─────────────────────┬────────┬───────────┬──────┐
///       │ signature │ version,command │ family and protocol │ length │ addresses │ TLVs │
///       └───────────┴─────────────────┴─────────────────────┴────────┴───────────┴──────┘
/// ```
enum ProxyHeaderV2 {
    static let signature: [UInt8] = [0x0d, 0x0a, 0x0d, 0x0a, 0x00, 0x0d, 0x0a, 0x51, 0x55, 0x49, 0x54, 0x0a]
    /// The size of the part before the addresses.
    static let fixedBytes = 16
    private static let tlvHeadBytes = 3

    enum Family: UInt8 {
        case unspecified = 0x00
        case tcp4 = 0x11
        case tcp6 = 0x21

        /// The size of one address.
        fileprivate var addressBytes: Int {
            switch self {
            case .unspecified: 0
            case .tcp4: 4
            case .tcp6: 16
            }
        }
    }

    enum CommandByte: UInt8 {
        case local = 0x20
        case proxy = 0x21
    }

    // MARK: Encoding

    /// - Returns: `nil` if it is longer than ``ProxyHeaderLimits/maximumBytes``.
    static func encode(_ header: ProxyHeader, withChecksum: Bool) -> [UInt8]? {
        let family = family(of: header)
        let command: CommandByte = header.command == .local ? .local : .proxy
        // Receivers ignore everything after an unspecified family.
        var tlvs = family == .unspecified ? [] : header.tlvs
        if withChecksum, family != .unspecified {
            tlvs.append(ProxyTLV(type: ProxyTLV.Kind.crc32c.rawValue, value: [0, 0, 0, 0]))
        }
        let body = addresses(of: header, in: family) + tlvs.flatMap(encode)
        guard fixedBytes + body.count <= ProxyHeaderLimits.maximumBytes else { return nil }
        var bytes = signature + [command.rawValue, family.rawValue] + bigEndian(UInt16(body.count)) + body
        if withChecksum, family != .unspecified {
            bytes.replaceSubrange((bytes.count - 4)..., with: bigEndian(CRC32C.checksum(of: bytes)))
        }
        return bytes
    }

    private static func family(of header: ProxyHeader) -> Family {
        guard let endpoints = header.endpoints else { return .unspecified }
        return endpoints.areIPv4 ? .tcp4 : .tcp6
    }

    private static func addresses(of header: ProxyHeader, in family: Family) -> [UInt8] {
        guard let endpoints = header.endpoints else { return [] }
        let ends = [endpoints.source, endpoints.destination]
        return ends.map(\.address).flatMap { family == .tcp4 ? $0.bytes : $0.ipv6Bytes }
            + ends.flatMap { bigEndian($0.port) }
    }

    /// A value too long for its length field also exceeds the header's limit, which is checked next.
    private static func encode(_ tlv: ProxyTLV) -> [UInt8] {
        [tlv.type] + bigEndian(UInt16(clamping: tlv.value.count)) + tlv.value
    }

    private static func bigEndian(_ number: some FixedWidthInteger) -> [UInt8] {
        stride(from: number.bitWidth - 8, through: 0, by: -8).map { UInt8(truncatingIfNeeded: number >> $0) }
    }

    // MARK: Decoding

    /// - Parameter bytes: one whole header, whose first ``fixedBytes`` have been checked.
    static func decode(_ bytes: [UInt8], _ command: CommandByte, _ family: Family) throws(ProxyHeaderFault)
        -> ProxyHeader
    {
        // Section 2.2: with LOCAL or an unspecified family the receiver ignores the rest.
        guard command == .proxy else { return .local }
        guard family != .unspecified else { return ProxyHeader(endpoints: nil) }
        let end = fixedBytes + 2 * family.addressBytes + 4
        guard bytes.count >= end else { throw .addresses }
        let source = bytes[fixedBytes...].prefix(family.addressBytes)
        let destination = bytes[(fixedBytes + family.addressBytes)...].prefix(family.addressBytes)
        guard let from = SocketAddress(bytes: Array(source), port: bigEndian16(bytes[(end - 4)...])),
            let to = SocketAddress(bytes: Array(destination), port: bigEndian16(bytes[(end - 2)...]))
        else { throw .addresses }
        return ProxyHeader(source: from, destination: to, tlvs: try tlvs(of: bytes, from: end))
    }

    private static func tlvs(of bytes: [UInt8], from start: Int) throws(ProxyHeaderFault) -> [ProxyTLV] {
        var tlvs: [ProxyTLV] = []
        var hasChecksum = false
        var rest = bytes[start...]
        while !rest.isEmpty {
            guard rest.count >= tlvHeadBytes else { throw .tlv }
            let type = rest[rest.startIndex]
            let length = Int(bigEndian16(rest.dropFirst()))
            let value = rest.dropFirst(tlvHeadBytes).prefix(length)
            guard value.count == length else { throw .tlv }
            rest = rest.dropFirst(tlvHeadBytes + length)
            switch ProxyTLV.Kind(rawValue: type) {
            case .noop: continue
            case .crc32c:
                guard !hasChecksum, checksum(value, isOf: bytes) else { throw .checksum }
                hasChecksum = true
            case .uniqueID where length > ProxyTLV.maximumUniqueIDBytes: throw .tlv
            default: tlvs.append(ProxyTLV(type: type, value: Array(value)))
            }
        }
        return tlvs
    }

    /// The checksum covers the whole header, with zeros in its own place.
    private static func checksum(_ value: ArraySlice<UInt8>, isOf bytes: [UInt8]) -> Bool {
        guard value.count == 4 else { return false }
        var zeroed = bytes
        zeroed.replaceSubrange(value.indices, with: [0, 0, 0, 0])
        return value.elementsEqual(bigEndian(CRC32C.checksum(of: zeroed)))
    }

    /// - Parameter bytes: at least two.
    static func bigEndian16(_ bytes: ArraySlice<UInt8>) -> UInt16 { bytes.prefix(2).reduce(0) { $0 << 8 | UInt16($1) } }
}

/// The checksum of a version 2 header (section 2.2.3): CRC-32C (Castagnoli), as in RFC 9260 appendix A.
enum CRC32C {
    /// The polynomial 0x1EDC6F41 with its bits reversed.
    private static let polynomial: UInt32 = 0x82f6_3b78

    private static let table: [UInt32] = (0..<256).map { byte in
        (0..<8).reduce(UInt32(byte)) { rest, _ in rest & 1 == 1 ? rest >> 1 ^ polynomial : rest >> 1 }
    }

    static func checksum(of bytes: some Sequence<UInt8>) -> UInt32 {
        ~bytes.reduce(UInt32.max) { rest, byte in
            table[Int(UInt8(truncatingIfNeeded: rest) ^ byte)] ^ rest >> 8
        }
    }
}
