import Foundation

/// An HTTP request as a server behind a proxy receives it.
package struct ReceivedRequest: Sendable {
    package let line: String
    /// Names in lower case.
    package let headers: [(name: String, value: String)]
    package let body: String
    /// All of it.
    package let text: String

    package subscript(name: String) -> [String] { headers.filter { $0.name == name }.map(\.value) }
}

extension TargetConnection {
    /// Takes one request from the connection.
    package func receiveRequest(bodyBytes: Int = 0) async throws -> ReceivedRequest {
        let end = Array("\r\n\r\n".utf8)
        let length = try await stream.wait(for: "a request's header") { stream -> Int? in
            if let found = stream.unread.firstRange(of: end) {
                return found.upperBound - stream.unread.startIndex
            }
            if stream.isAtEnd { throw EdgeTestError("no request: \(stream)") }
            return nil
        }
        let head = String(decoding: try await receive(length), as: UTF8.self)
        let body = String(decoding: try await receive(bodyBytes), as: UTF8.self)
        let lines = head.components(separatedBy: "\r\n")
        let headers = lines.dropFirst().compactMap { line -> (name: String, value: String)? in
            guard let colon = line.firstIndex(of: ":") else { return nil }
            return (
                line[..<colon].lowercased(),
                line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
            )
        }
        return ReceivedRequest(line: lines[0], headers: headers, body: body, text: head + body)
    }
}

extension RawConnection {
    /// Everything up to the end of `text`.
    package func receive(through text: String, within limit: Duration = .seconds(20)) async throws -> String {
        let wanted = Array(text.utf8)
        let length = try await stream.wait(for: text.debugDescription, within: limit) { stream -> Int? in
            if let found = stream.unread.firstRange(of: wanted) {
                return found.upperBound - stream.unread.startIndex
            }
            if stream.isAtEnd { throw EdgeTestError("the stream ended before \(text.debugDescription): \(stream)") }
            return nil
        }
        return String(decoding: try await receive(length, within: limit), as: UTF8.self)
    }
}
