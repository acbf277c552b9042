package import WireText

/// What a gateway tells another one about a client that resumes a session there, before the upgrade that names the
/// session.
///
/// Nothing of it is a decision: the gateway that receives it decides whether the client may have the session, and
/// whether it would be admitted now.
package struct RelayPreface: Hashable, Sendable {
    /// The client's address, as the first gateway has found it: a trusted proxy may have named it. The port is 0 then.
    package var client: SocketAddress
    /// The client's own connection has TLS.
    package var isTLS: Bool
    /// Of the first gateway; both use it in their logs and answers.
    package var requestID: String
    /// The client that the first gateway has admitted, in the form that crosses to another process. Nil: the client has
    /// nothing but the session's token, and the first gateway asks whose it is; the answer is the first message, before
    /// those of the session.
    package var principal: [UInt8]?

    package init(client: SocketAddress, isTLS: Bool, requestID: String) {
        self.client = client
        self.isTLS = isTLS
        self.requestID = requestID
    }
}

package enum RelayPrefaceLimits {
    /// Without the fixed header. Room for the largest client, and for fields of later versions.
    package static let maximumBytes = 16_384
    package static let maximumRequestIDBytes = 32
    package static let maximumPrincipalBytes = 12_288
    /// Of all kinds together, known and unknown.
    package static let maximumFields = 16
}

/// Why a preface is refused. For the log: it contains no received data.
package enum RelayPrefaceFault: Error, Hashable, Sendable {
    /// The first bytes aren't a preface.
    case signature
    /// A version that this gateway doesn't know.
    case version
    case tooLong
    /// A field extends beyond the end, or there are too many.
    case field
    /// A field that this gateway doesn't know and that may not be ignored.
    case unknownField
    /// A field is there twice, or has an impossible value.
    case address, flags, requestID, principal
    /// A required field is missing.
    case missing
    /// Input after the parser had already finished.
    case afterEnd
}

/// The binary form, version 1: `PCUF`, the version, three bytes of length, then fields. A field has a kind (1 byte), a
/// length (2 bytes) and its value; numbers are in network order. Fields of kind 128 and above may be ignored by who
/// doesn't know them.
enum RelayPrefaceForm {
    static let signature = Array("PCUF".utf8)
    static let version: UInt8 = 1
    static let headerBytes = 8

    enum Kind: UInt8 {
        /// 4 or 16 bytes of address, 2 of port.
        case address = 1
        case flags = 2
        case requestID = 4
        case principal = 5
    }

    static let firstOptionalKind: UInt8 = 128

    struct Flags: OptionSet {
        let rawValue: UInt8
        static let tls = Flags(rawValue: 1)
        static let all: Flags = [.tls]
    }
}

extension RelayPreface {
    /// - Returns: nil if a part is over its limit.
    package func encoded() -> [UInt8]? {
        var fields: [UInt8] = []
        let flags: RelayPrefaceForm.Flags = isTLS ? .tls : []
        let address = client.address.bytes
        Self.append(.address, address + [UInt8(client.port >> 8), UInt8(truncatingIfNeeded: client.port)], to: &fields)
        Self.append(.flags, [flags.rawValue], to: &fields)
        guard Self.isRequestID(requestID.utf8) else { return nil }
        Self.append(.requestID, Array(requestID.utf8), to: &fields)
        if let principal {
            guard (1...RelayPrefaceLimits.maximumPrincipalBytes).contains(principal.count) else { return nil }
            Self.append(.principal, principal, to: &fields)
        }
        guard fields.count <= RelayPrefaceLimits.maximumBytes else { return nil }
        let length = [16, 8, 0].map { UInt8(truncatingIfNeeded: fields.count >> $0) }
        return RelayPrefaceForm.signature + [RelayPrefaceForm.version] + length + fields
    }

    private static func append(_ kind: RelayPrefaceForm.Kind, _ value: [UInt8], to fields: inout [UInt8]) {
        fields += [kind.rawValue, UInt8(truncatingIfNeeded: value.count >> 8), UInt8(truncatingIfNeeded: value.count)]
        fields += value
    }

    /// Lower-case hexadecimal, as every gateway makes them: it goes into logs.
    static func isRequestID(_ bytes: some Collection<UInt8>) -> Bool {
        (1...RelayPrefaceLimits.maximumRequestIDBytes).contains(bytes.count)
            && bytes.allSatisfy { ("0"..."9").contains(Unicode.Scalar($0)) || ("a"..."f").contains(Unicode.Scalar($0)) }
    }
}
