import WireText

package enum RelayPrefaceProgress: Hashable, Sendable {
    case needsMore
    /// `consumedBytes` of the last input belong to the preface; the following bytes are the client's request.
    case complete(RelayPreface, consumedBytes: Int)
    /// The connection must not be used. Later bytes aren't examined.
    case malformed(RelayPrefaceFault)
}

/// Parses the preface at the start of a connection from another gateway, however its bytes are split.
///
/// It stops at the first byte that can't belong to one, and holds at most ``RelayPrefaceLimits/maximumBytes`` and the
/// fixed header. Use it only for a peer that has proved to be a gateway of the fleet.
package struct RelayPrefaceParser: Sendable {
    private var held: [UInt8] = []
    private var hasEnded = false

    package init() {}

    package var hasBegun: Bool { hasEnded || !held.isEmpty }

    /// - Parameter bytes: the connection's next bytes; each byte is passed once.
    package mutating func parse(_ bytes: ArraySlice<UInt8>) -> RelayPrefaceProgress {
        guard !hasEnded else { return .malformed(.afterEnd) }
        do throws(RelayPrefaceFault) {
            var rest = bytes
            while let total = try missing(), !rest.isEmpty {
                held += rest.prefix(total)
                rest = rest.dropFirst(total)
            }
            guard try missing() == nil else { return .needsMore }
            let preface = try Self.decode(held[RelayPrefaceForm.headerBytes...])
            end()
            return .complete(preface, consumedBytes: bytes.count - rest.count)
        } catch {
            end()
            return .malformed(error)
        }
    }

    private mutating func end() {
        hasEnded = true
        held = []
    }

    /// The bytes to the end of the fixed header or, behind it, of the preface; nil at the end.
    private func missing() throws(RelayPrefaceFault) -> Int? {
        let form = RelayPrefaceForm.self
        guard held.prefix(form.signature.count).elementsEqual(form.signature.prefix(held.count)) else {
            throw .signature
        }
        if held.count > form.signature.count {
            guard held[form.signature.count] == form.version else { throw .version }
        }
        // One byte at a time: what can't be a preface ends at its first wrong byte.
        guard held.count >= form.headerBytes else { return 1 }
        let length = held[5..<form.headerBytes].reduce(0) { $0 << 8 | Int($1) }
        guard length <= RelayPrefaceLimits.maximumBytes else { throw .tooLong }
        let missing = form.headerBytes + length - held.count
        return missing > 0 ? missing : nil
    }

    // MARK: Fields

    private static func decode(_ bytes: ArraySlice<UInt8>) throws(RelayPrefaceFault) -> RelayPreface {
        var found = FoundFields()
        var rest = bytes
        var count = 0
        while let kind = rest.popFirst() {
            count += 1
            guard count <= RelayPrefaceLimits.maximumFields, rest.count >= 2 else { throw .field }
            let length = rest.prefix(2).reduce(0) { $0 << 8 | Int($1) }
            rest = rest.dropFirst(2)
            guard rest.count >= length else { throw .field }
            try found.add(kind, Array(rest.prefix(length)))
            rest = rest.dropFirst(length)
        }
        return try found.preface()
    }

    private struct FoundFields {
        private var client: SocketAddress?
        private var flags: RelayPrefaceForm.Flags?
        private var requestID: String?
        private var principal: [UInt8]?

        mutating func add(_ kind: UInt8, _ value: [UInt8]) throws(RelayPrefaceFault) {
            switch RelayPrefaceForm.Kind(rawValue: kind) {
            case .address:
                guard client == nil, let address = Self.address(value) else { throw .address }
                client = address
            case .flags:
                guard flags == nil, value.count == 1,
                    RelayPrefaceForm.Flags.all.isSuperset(of: .init(rawValue: value[0]))
                else { throw .flags }
                flags = .init(rawValue: value[0])
            case .requestID:
                guard requestID == nil, RelayPreface.isRequestID(value) else { throw .requestID }
                requestID = String(decoding: value, as: UTF8.self)
            case .principal:
                guard principal == nil, (1...RelayPrefaceLimits.maximumPrincipalBytes).contains(value.count) else {
                    throw .principal
                }
                principal = value
            case nil:
                guard kind >= RelayPrefaceForm.firstOptionalKind else { throw .unknownField }
            }
        }

        private static func address(_ value: [UInt8]) -> SocketAddress? {
            guard value.count > 2 else { return nil }
            let port = value.suffix(2).reduce(0) { $0 << 8 | UInt16($1) }
            return SocketAddress(bytes: Array(value.dropLast(2)), port: port)
        }

        func preface() throws(RelayPrefaceFault) -> RelayPreface {
            guard let client, let flags, let requestID else { throw .missing }
            var preface = RelayPreface(
                client: client, isTLS: flags.contains(.tls), requestID: requestID)
            preface.principal = principal
            return preface
        }
    }
}
