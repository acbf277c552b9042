/// Parses the answers on an HTTP/1.1 keep-alive connection, one after another (RFC 9112). It supports only the answers
/// that the gateway sends: with Content-Length, or without a body (204).
struct HTTPAnswerParser: Sendable {
    static let maximumBytes = 1 << 20

    struct Answer: Hashable, Sendable {
        let status: Int
        let body: [UInt8]
        let isLast: Bool
        /// `DPoP-Nonce`.
        var nonce: String?
        /// `X-AppAttest-Next-Challenge`.
        var nextChallenge: String?
    }

    enum Failure: Error { case malformed }

    private var buffer: [UInt8] = []

    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        buffer.append(contentsOf: bytes)
    }

    /// - Returns: nil while the answer is incomplete.
    mutating func next() throws(Failure) -> Answer? {
        guard let head = endOfHead else {
            guard buffer.count <= Self.maximumBytes else { throw .malformed }
            return nil
        }
        let lines = String(decoding: buffer[..<head], as: UTF8.self).split(separator: "\r\n")
        let words = lines.first?.split(separator: " ") ?? []
        guard words.count >= 2, words[0].hasPrefix("HTTP/1."), let status = Int(words[1]) else { throw .malformed }
        let fields = lines.dropFirst().map(String.init)
        let declared = fields.compactMap { value(of: "content-length", in: $0) }.first
        guard let length = status == 204 ? 0 : declared.flatMap({ Int($0) }), (0...Self.maximumBytes).contains(length)
        else { throw .malformed }
        guard buffer.count >= head + length else { return nil }
        let body = Array(buffer[head..<head + length])
        buffer.removeFirst(head + length)
        let isLast = fields.contains { value(of: "connection", in: $0)?.lowercased() == "close" }
        let nonce = fields.compactMap { value(of: "dpop-nonce", in: $0) }.first
        let next = fields.compactMap { value(of: "x-appattest-next-challenge", in: $0) }.first
        return Answer(status: status, body: body, isLast: isLast, nonce: nonce, nextChallenge: next)
    }

    private var endOfHead: Int? {
        guard buffer.count >= 4 else { return nil }
        return (4...buffer.count).first { buffer[$0 - 4..<$0].elementsEqual([13, 10, 13, 10]) }
    }

    private func value(of name: String, in field: String) -> String? {
        guard field.prefix(name.count + 1).lowercased() == name + ":" else { return nil }
        return String(field.dropFirst(name.count + 1).drop { $0 == " " })
    }
}
