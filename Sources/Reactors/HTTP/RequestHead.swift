import CLibwebsockets

/// The request line and the headers that anybody here asks for, copied out of libwebsockets while it holds them.
///
/// Of two equal custom headers libwebsockets 4.1.6 shows the first alone; repeated standard headers come joined by commas.
package struct RequestHead: Sendable {
    package enum Method: String, Sendable {
        case get = "GET"
        case head = "HEAD"
        case post = "POST"
        case other = "OTHER"
    }

    package let method: Method
    /// The path without its query, as sent: begins with `/`.
    package let path: String
    package let query: RequestQuery
    package let isHTTP11: Bool
    private let fields: [String: String]

    /// By lower-case name. A custom header that is present but empty is `""`, an absent one nil; of a standard header
    /// libwebsockets 4.1.6 can't tell the two apart, and both are nil.
    package subscript(name: String) -> String? { fields[name] }

    /// All headers of a request together (`MAX_HEADER_BYTES`).
    package static let defaultMaximumHeaderBytes = 16_384

    /// Names that libwebsockets has tokens for.
    private static let standard: [(String, lws_token_indexes)] = [
        ("host", WSI_TOKEN_HOST), ("connection", WSI_TOKEN_CONNECTION), ("upgrade", WSI_TOKEN_UPGRADE),
        ("origin", WSI_TOKEN_ORIGIN), ("sec-websocket-key", WSI_TOKEN_KEY),
        ("sec-websocket-version", WSI_TOKEN_VERSION),
        ("sec-websocket-protocol", WSI_TOKEN_PROTOCOL), ("content-length", WSI_TOKEN_HTTP_CONTENT_LENGTH),
        ("transfer-encoding", WSI_TOKEN_HTTP_TRANSFER_ENCODING),
        // Of several all are there, joined with commas: which is then no secret of anybody's.
        ("authorization", WSI_TOKEN_HTTP_AUTHORIZATION),
        // Of several all are there, joined with commas in their order.
        ("x-forwarded-for", WSI_TOKEN_X_FORWARDED_FOR),
    ]
    /// Names that it keeps as they came. Of several equal ones only the first can be seen.
    private static let custom = ["x-app-assert-keyid", "x-app-assert-data", "x-app-assert-nonce", "forwarded"]

    /// On the reactor's thread, inside a callback in which `wsi` still holds its headers.
    init?(of wsi: OpaquePointer) {
        var start: UnsafeMutablePointer<CChar>?
        var length: Int32 = 0
        let number = lws_http_get_uri_and_method(wsi, &start, &length)
        guard number >= 0, let start, length > 0 else { return nil }
        let bytes = UnsafeBufferPointer(start: start, count: Int(length)).map { UInt8(bitPattern: $0) }
        path = String(decoding: bytes, as: UTF8.self)
        method = Self.method(number)
        query = RequestQuery(of: wsi)
        // Of an encoded line feed in the target libwebsockets makes the end of the request line: then the version is missing.
        guard let version = Self.copy(wsi, WSI_TOKEN_HTTP), version.hasPrefix("HTTP/1.") else { return nil }
        isHTTP11 = version == "HTTP/1.1"
        fields = Self.readFields(of: wsi)
    }

    private static func method(_ number: Int32) -> Method {
        switch number {
        case Int32(LWSHUMETH_GET): .get
        case Int32(LWSHUMETH_HEAD): .head
        case Int32(LWSHUMETH_POST): .post
        default: .other
        }
    }

    private static func readFields(of wsi: OpaquePointer) -> [String: String] {
        var fields: [String: String] = [:]
        for (name, token) in standard {
            fields[name] = copy(wsi, token)
        }
        for name in custom {
            fields[name] = copyCustom(wsi, name + ":")
        }
        return fields
    }

    private static func copy(_ wsi: OpaquePointer, _ token: lws_token_indexes) -> String? {
        let length = Int(lws_hdr_total_length(wsi, token))
        guard length > 0 else { return nil }
        return read(length) { lws_hdr_copy(wsi, $0, $1, token) }
    }

    static func copyCustom(_ wsi: OpaquePointer, _ name: String) -> String? {
        let length = Int(lws_hdr_custom_length(wsi, name, Int32(name.utf8.count)))
        guard length >= 0 else { return nil }
        return read(length) { lws_hdr_custom_copy(wsi, $0, $1, name, Int32(name.utf8.count)) }
    }

    /// - Returns: what `copy` writes into a buffer of `length` bytes and the zero that it adds.
    private static func read(_ length: Int, _ copy: (UnsafeMutablePointer<CChar>, Int32) -> Int32) -> String {
        guard length > 0 else { return "" }
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: length + 1) { buffer in
            let count = Int(copy(buffer.baseAddress!, Int32(length + 1)))
            return String(decoding: buffer.prefix(max(count, 0)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        }
    }
}
