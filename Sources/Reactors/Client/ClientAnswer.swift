import CLibwebsockets

/// Reads the response to a request of libwebsockets' own client.
enum ClientAnswer {
    /// A header field, by its lower-case name with a colon; nil if it is absent. Call it inside a callback during which `wsi` still holds
    /// the header.
    static func field(_ wsi: OpaquePointer, _ name: String) -> String? {
        let length = Int(lws_hdr_custom_length(wsi, name, Int32(name.utf8.count)))
        guard length >= 0 else { return nil }
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: length + 1) { buffer in
            let count = Int(
                lws_hdr_custom_copy(wsi, buffer.baseAddress!, Int32(length + 1), name, Int32(name.utf8.count)))
            return String(decoding: buffer.prefix(max(count, 0)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        }
    }

    /// `WWW-Authenticate`, a field that libwebsockets knows and so doesn't find by name; nil if it is absent.
    static func authenticate(_ wsi: OpaquePointer) -> String? {
        let length = Int(lws_hdr_total_length(wsi, WSI_TOKEN_HTTP_WWW_AUTHENTICATE))
        guard length > 0 else { return nil }
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: length + 1) { buffer in
            let count = Int(
                lws_hdr_copy(wsi, buffer.baseAddress!, Int32(length + 1), WSI_TOKEN_HTTP_WWW_AUTHENTICATE))
            return String(decoding: buffer.prefix(max(count, 0)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        }
    }
}
