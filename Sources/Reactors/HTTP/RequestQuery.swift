import CLibwebsockets

/// A request's query as parameters, in the form that HTML forms have: `name=value`, separated by `&`, a space as `+` or `%20`.
///
/// libwebsockets 4.1.6 has decoded it while it read the request line: it takes `;` for `&` as well, and ends the connection at a `%`
/// without two hexadecimal digits and at `%00`.
package struct RequestQuery: Sendable, Equatable {
    package enum Parameter: Sendable, Equatable {
        case absent
        case value(String)
        /// There more than once, longer than `maximumValueBytes`, not UTF-8, or with a control character in it; or the query has
        /// more than `maximumParameters`. Which of two values somebody else would read can't be known: none is told.
        case malformed
    }

    package static let maximumParameters = 16
    package static let maximumValueBytes = 4_096

    /// At most one more than `maximumParameters`.
    private let pieces: [[UInt8]]

    /// - Parameter pieces: what stands between the separators, decoded.
    init(pieces: [[UInt8]]) {
        self.pieces = Array(pieces.prefix(Self.maximumParameters + 1))
    }

    /// On the reactor's thread, inside a callback in which `wsi` still holds its headers.
    init(of wsi: OpaquePointer) {
        let room = Int(lws_hdr_total_length(wsi, WSI_TOKEN_HTTP_URI_ARGS)) + 1
        var pieces: [[UInt8]] = []
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: room) { buffer in
            while pieces.count <= Self.maximumParameters {
                let count = lws_hdr_copy_fragment(
                    wsi, buffer.baseAddress!, Int32(room), WSI_TOKEN_HTTP_URI_ARGS, Int32(pieces.count))
                guard count >= 0 else { return }
                pieces.append(buffer.prefix(Int(count)).map { UInt8(bitPattern: $0) })
            }
        }
        self.init(pieces: pieces)
    }

    /// - Parameter name: compared byte by byte.
    package subscript(name: String) -> Parameter {
        guard pieces.count <= Self.maximumParameters else { return .malformed }
        let matches = pieces.filter { $0.prefix { $0 != UInt8(ascii: "=") }.elementsEqual(name.utf8) }
        guard let match = matches.first else { return .absent }
        let value = match.dropFirst(name.utf8.count + 1)
        guard matches.count == 1, value.count <= Self.maximumValueBytes,
            let text = String(validating: value, as: UTF8.self),
            text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F })
        else { return .malformed }
        return .value(text)
    }
}
