import CLibwebsockets

/// What libwebsockets shows of an answer to one of its own clients.
enum ClientAnswer {
    /// A field by its lower-case name with a colon, inside a callback in which `wsi` still holds its header; nil where there is none.
    static func field(_ wsi: OpaquePointer, _ name: String) -> String? {
        let length = Int(lws_hdr_custom_length(wsi, name, Int32(name.utf8.count)))
        guard length >= 0 else { return nil }
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: length + 1) { buffer in
            let count = Int(
                lws_hdr_custom_copy(wsi, buffer.baseAddress!, Int32(length + 1), name, Int32(name.utf8.count)))
            return String(decoding: buffer.prefix(max(count, 0)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        }
    }
}
