/// A client's first record, containing only a ClientHello, parsed as far as an attack needs it (RFC 8446 §4.1.2, §5.1).
struct ClientHello: Hashable, Sendable {
    enum Failure: Error {
        /// Another record type, more than one message, or inconsistent lengths.
        case notAClientHello
    }

    struct Extension: Hashable, Sendable {
        let type: UInt16
        var body: [UInt8]
    }

    /// Record and handshake types, and extension numbers.
    private static let handshakeRecord: UInt8 = 22
    private static let clientHello: UInt8 = 1
    private static let supportedGroups: UInt16 = 10
    private static let signatureAlgorithms: UInt16 = 13
    private static let keyShare: UInt16 = 51

    private let recordVersion: [UInt8]
    /// The bytes from the version to the compression methods.
    private let beginning: [UInt8]
    /// Old clients have no extensions and no length field for them.
    private let hasExtensions: Bool
    private(set) var extensions: [Extension]

    /// - Parameter record: a complete record without trailing bytes.
    init(record: [UInt8]) throws(Failure) {
        var outer = WireReader(record)
        guard outer.byte() == Self.handshakeRecord, let version = outer.take(2), let fragment = outer.vector(2),
            outer.isAtEnd
        else { throw .notAClientHello }
        var message = WireReader(fragment)
        guard message.byte() == Self.clientHello, let hello = message.vector(3), message.isAtEnd else {
            throw .notAClientHello
        }
        var body = WireReader(hello)
        // Version, random, session id, suites, compression methods.
        guard body.take(2 + 32) != nil, body.vector(1) != nil, body.vector(2) != nil, body.vector(1) != nil else {
            throw .notAClientHello
        }
        recordVersion = version
        beginning = Array(hello.prefix(hello.count - body.rest.count))
        hasExtensions = !body.isAtEnd
        extensions = try Self.extensions(&body)
    }

    private static func extensions(_ body: inout WireReader) throws(Failure) -> [Extension] {
        guard !body.isAtEnd else { return [] }
        guard let all = body.vector(2), body.isAtEnd else { throw .notAClientHello }
        var (reader, extensions) = (WireReader(all), [] as [Extension])
        while !reader.isAtEnd {
            guard let type = reader.number(2), let body = reader.vector(2) else { throw .notAClientHello }
            extensions.append(Extension(type: UInt16(type), body: body))
        }
        return extensions
    }

    var record: [UInt8] {
        let all = extensions.flatMap { $0.type.wireBytes + UInt16($0.body.count).wireBytes + $0.body }
        let hello = beginning + (hasExtensions ? UInt16(all.count).wireBytes + all : [])
        let message = [Self.clientHello, UInt8(hello.count >> 16)] + UInt16(truncatingIfNeeded: hello.count).wireBytes
        return [Self.handshakeRecord] + recordVersion + UInt16(message.count + hello.count).wireBytes + message + hello
    }

    var groups: [UInt16] { numbers(of: Self.supportedGroups) }

    var signatures: [UInt16] { numbers(of: Self.signatureAlgorithms) }

    /// The groups of the key shares (RFC 8446 §4.2.8).
    var sharedGroups: [UInt16] {
        guard var reader = body(of: Self.keyShare).map({ WireReader($0) }), let all = reader.vector(2) else {
            return []
        }
        var (shares, groups) = (WireReader(all), [] as [UInt16])
        while let group = shares.number(2), shares.vector(2) != nil { groups.append(UInt16(group)) }
        return groups
    }

    /// A copy without key shares: the server must request one with a HelloRetryRequest (RFC 8446 §4.1.4), and the
    /// original is the answer.
    var withoutKeyShares: ClientHello {
        var other = self
        for index in other.extensions.indices where other.extensions[index].type == Self.keyShare {
            other.extensions[index].body = [0, 0]
        }
        return other
    }

    private func body(of type: UInt16) -> [UInt8]? { extensions.first { $0.type == type }?.body }

    private func numbers(of type: UInt16) -> [UInt16] {
        guard var reader = body(of: type).map({ WireReader($0) }), let list = reader.vector(2) else { return [] }
        var (items, numbers) = (WireReader(list), [] as [UInt16])
        while let number = items.number(2) { numbers.append(UInt16(number)) }
        return numbers
    }
}

/// Reads numbers and vectors in TLS's presentation language from the front (RFC 8446 §3).
struct WireReader: Sendable {
    private(set) var rest: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) {
        rest = bytes[...]
    }

    var isAtEnd: Bool { rest.isEmpty }

    mutating func byte() -> UInt8? { rest.popFirst() }

    /// - Returns: nil if there are fewer bytes; then none is taken.
    mutating func take(_ count: Int) -> [UInt8]? {
        guard rest.count >= count else { return nil }
        defer { rest = rest.dropFirst(count) }
        return Array(rest.prefix(count))
    }

    mutating func number(_ bytes: Int) -> Int? { take(bytes)?.reduce(0) { $0 << 8 | Int($1) } }

    /// The content after a length field of `lengthBytes` bytes.
    mutating func vector(_ lengthBytes: Int) -> [UInt8]? { number(lengthBytes).flatMap { take($0) } }
}

extension UInt16 {
    fileprivate var wireBytes: [UInt8] { [UInt8(self >> 8), UInt8(self & 255)] }
}
