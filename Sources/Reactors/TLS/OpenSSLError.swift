import COpenSSL

/// OpenSSL's error queue of the calling thread.
enum OpenSSLError {
    static func clear() {
        ERR_clear_error()
    }

    /// Everything in the queue, oldest first, in OpenSSL's words; empties it.
    static func drain() -> String {
        var texts: [String] = []
        while case let code = ERR_get_error(), code != 0 {
            var buffer = [CChar](repeating: 0, count: 256)
            ERR_error_string_n(code, &buffer, buffer.count)
            texts.append(String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self))
        }
        return texts.isEmpty ? "no reason given" : texts.joined(separator: "; ")
    }
}
