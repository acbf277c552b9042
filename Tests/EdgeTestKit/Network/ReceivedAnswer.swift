import Foundation

/// An HTTP answer as received.
package struct ReceivedAnswer: Sendable {
    package let version: String
    package let status: Int
    /// Names in lower case, in the order received.
    package let headers: [(name: String, value: String)]
    package let body: [UInt8]

    package subscript(header: String) -> String? {
        headers.first { $0.name == header.lowercased() }?.value
    }

    package var text: String { String(decoding: body, as: UTF8.self) }

    /// The body as the guide's client reads it: all values are strings. Nil for any other body.
    package var strings: [String: String]? {
        try? JSONDecoder().decode([String: String].self, from: Data(body))
    }

    /// A string field of a JSON body that may have other fields.
    package func field(_ name: String) -> String? {
        (try? JSONSerialization.jsonObject(with: Data(body)) as? [String: Any])?[name] as? String
    }

    /// `error`, `code` and `requestId` of a refusal's body.
    package var errorText: String? { strings?["error"] }
    package var code: String? { strings?["code"] }
    package var requestID: String? { strings?["requestId"] }
}

extension ReceivedAnswer: CustomStringConvertible {
    package var description: String {
        "\(version) \(status)\n" + headers.map { "\($0.name): \($0.value)\n" }.joined() + "\n"
            + String(text.prefix(500))
    }
}

extension ReceivedAnswer {
    /// Takes one answer from the stream; nil while it is incomplete.
    ///
    /// The body's length is that of `Content-Length`; without one, the body extends to the end of the stream. Other
    /// framing isn't supported, because the gateway has no reason to answer in chunks.
    static func take(from stream: inout ByteStream) throws -> ReceivedAnswer? {
        let bytes = stream.unread
        guard let headEnd = bytes.firstRange(of: Array("\r\n\r\n".utf8)) else {
            if stream.isAtEnd { throw EdgeTestError("no HTTP answer: \(stream)") }
            return nil
        }
        let head = try parseHead(bytes[..<headEnd.lowerBound])
        let available = bytes.endIndex - headEnd.upperBound
        let hasBody = head.status >= 200 && head.status != 204 && head.status != 304
        var length = 0
        if hasBody {
            if let declared = head["content-length"] {
                guard let number = Int(declared) else { throw EdgeTestError("Content-Length \(declared)") }
                length = number
            } else {
                guard stream.isAtEnd else { return nil }
                length = available
            }
        }
        guard available >= length else {
            if stream.isAtEnd { throw EdgeTestError("the body ended early: \(stream)") }
            return nil
        }
        let body = Array(bytes[headEnd.upperBound..<headEnd.upperBound + length])
        stream.drop(headEnd.upperBound - bytes.startIndex + length)
        return ReceivedAnswer(version: head.version, status: head.status, headers: head.headers, body: body)
    }

    private static func parseHead(_ bytes: ArraySlice<UInt8>) throws -> ReceivedAnswer {
        let lines = String(decoding: bytes, as: UTF8.self).components(separatedBy: "\r\n")
        let statusLine = lines[0].split(separator: " ", maxSplits: 2)
        guard statusLine.count >= 2, statusLine[0].hasPrefix("HTTP/1."), let status = Int(statusLine[1]) else {
            throw EdgeTestError("not a status line: \(lines[0])")
        }
        let headers = try lines.dropFirst().map { line -> (name: String, value: String) in
            guard let colon = line.firstIndex(of: ":") else { throw EdgeTestError("not a header: \(line)") }
            let value = line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
            return (line[..<colon].lowercased(), value)
        }
        return ReceivedAnswer(version: String(statusLine[0]), status: status, headers: headers, body: [])
    }
}

extension RawConnection {
    /// Awaits one HTTP answer and consumes it.
    package func answer(within limit: Duration = .seconds(20)) async throws -> ReceivedAnswer {
        try await stream.wait(for: "an HTTP answer", within: limit) { try ReceivedAnswer.take(from: &$0) }
    }

    /// Awaits one HTTP answer; nil if the connection ends without a byte of one.
    package func answerOrEnd(within limit: Duration = .seconds(60)) async throws -> ReceivedAnswer? {
        let outcome = try await stream.wait(for: "an HTTP answer or the end", within: limit) {
            stream -> (answer: ReceivedAnswer?, isEnd: Bool)? in
            if stream.isAtEnd, stream.unread.isEmpty { return (nil, true) }
            return try ReceivedAnswer.take(from: &stream).map { ($0, false) }
        }
        return outcome.answer
    }

    /// Awaits one HTTP answer and the end of the connection directly after it.
    package func lastAnswer(within limit: Duration = .seconds(20)) async throws -> ReceivedAnswer {
        let answer = try await answer(within: limit)
        let rest = try await receiveToEnd(within: limit)
        guard rest.isEmpty else {
            throw EdgeTestError("after \(answer.status) came \(String(decoding: rest, as: UTF8.self).debugDescription)")
        }
        return answer
    }
}
