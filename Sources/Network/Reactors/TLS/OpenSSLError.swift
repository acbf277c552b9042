import COpenSSL

/// The calling thread's OpenSSL error queue.
enum OpenSSLError {
    static func clear() {
        ERR_clear_error()
    }

    /// Removes all errors from the queue and returns their texts, oldest first.
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
