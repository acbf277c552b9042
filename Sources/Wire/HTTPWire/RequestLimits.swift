/// Limits on one request. Each is the largest accepted value; one more is refused.
package struct RequestLimits: Hashable, Sendable {
    /// The maximum value of any limit, so that header positions fit into 32 bits and sums of limits can't overflow.
    package static let ceiling = 1 << 24

    /// Empty lines before the request line (RFC 9112 §2.2).
    package var maximumLeadingEmptyLines: Int { didSet { clamp(\.maximumLeadingEmptyLines) } }
    /// A longer method can't be a known one and is refused with 501 (RFC 9112 §3).
    package var maximumMethodBytes: Int { didSet { clamp(\.maximumMethodBytes) } }
    /// The request line without its CRLF.
    package var maximumRequestLineBytes: Int { didSet { clamp(\.maximumRequestLineBytes) } }
    /// Field lines of the header, and of a trailer section.
    package var maximumFields: Int { didSet { clamp(\.maximumFields) } }
    /// One field line without its CRLF.
    package var maximumFieldBytes: Int { didSet { clamp(\.maximumFieldBytes) } }
    /// All field lines of the header together, with their CRLFs.
    package var maximumHeaderBytes: Int { didSet { clamp(\.maximumHeaderBytes) } }
    /// The size of the decoded body.
    package var maximumBodyBytes: Int { didSet { clamp(\.maximumBodyBytes) } }
    /// One line with a chunk's size and extensions, without its CRLF.
    package var maximumChunkLineBytes: Int { didSet { clamp(\.maximumChunkLineBytes) } }
    /// The extensions of all chunks of a body together (RFC 9112 §7.1.1 recommends this limit).
    package var maximumChunkExtensionBytes: Int { didSet { clamp(\.maximumChunkExtensionBytes) } }
    /// All field lines of a trailer section together, with their CRLFs.
    package var maximumTrailerBytes: Int { didSet { clamp(\.maximumTrailerBytes) } }

    package init() {
        maximumLeadingEmptyLines = 1
        maximumMethodBytes = 32
        maximumRequestLineBytes = 8_192
        maximumFields = 100
        maximumFieldBytes = 8_192
        maximumHeaderBytes = 16_384
        maximumBodyBytes = 65_536
        maximumChunkLineBytes = 256
        maximumChunkExtensionBytes = 4_096
        maximumTrailerBytes = 4_096
    }

    private mutating func clamp(_ limit: WritableKeyPath<Self, Int>) {
        let value = self[keyPath: limit]
        if value < 0 || value > Self.ceiling { self[keyPath: limit] = min(max(value, 0), Self.ceiling) }
    }
}
