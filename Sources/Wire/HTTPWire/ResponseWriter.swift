/// Writes the response to one request: interim responses if any, then a whole or a streamed response. One value per
/// connection.
///
/// Only this type decides on framing and on closing the connection, so both always match the bytes. Calls out of order
/// write nothing.
package struct ResponseWriter: Hashable, Sendable {
    private enum State {
        case ready
        case chunks
        /// The body ends when the connection is closed (RFC 9112 §6.3).
        case untilClose
        /// The response is streamed, but its content isn't sent.
        case noContent
        case ended
    }

    private let version: HTTPVersion
    private let isHead: Bool
    private var state = State.ready
    /// Whether the connection must be closed after the response.
    package private(set) var closesConnection: Bool

    /// - Parameters:
    ///   - version: of the request.
    ///   - isHead: the request's method is HEAD.
    ///   - closesConnection: after this response, whatever the request asks for.
    package init(version: HTTPVersion = .http11, isHead: Bool = false, closesConnection: Bool) {
        self.version = version
        self.isHead = isHead
        self.closesConnection = closesConnection
    }

    /// For a request that was read completely.
    package init(for head: RequestHead) {
        self.init(version: head.version, isHead: head.isMethod("HEAD"), closesConnection: !head.keepsAlive)
    }

    /// Whether the whole response has been written.
    package var hasEnded: Bool { state == .ended }

    // MARK: Interim responses

    /// Writes `100 Continue`. HTTP/1.0 has no interim responses (RFC 9110 §15.2): nothing is written then.
    package mutating func writeContinue(into output: inout [UInt8]) {
        guard state == .ready, version == .http11 else { return }
        output += "HTTP/1.1 100 Continue\r\n\r\n".utf8
    }

    // MARK: Whole responses

    /// A status without content drops `body`. HEAD does too, but keeps the Content-Length that GET would have (RFC 9110
    /// §9.3.2). After a 101 the other protocol begins. Interim statuses aren't allowed here and become a 500.
    package mutating func write(_ response: Response, body: [UInt8] = [], into output: inout [UInt8]) {
        guard state == .ready else { return }
        guard isWritable(response) else { return writeFailure(into: &output) }
        state = .ended
        let length = response.status.forbidsContent ? 0 : body.count
        output.reserveCapacity(output.count + response.lines.count + (isHead ? 0 : length) + 160)
        writeStart(response, into: &output)
        if !response.status.forbidsContentLength {
            output += "Content-Length: ".utf8
            output.append(number: length, radix: 10)
            output += "\r\n".utf8
        }
        output += "\r\n".utf8
        if !isHead, length > 0 { output += body }
    }

    private func isWritable(_ response: Response) -> Bool {
        guard !response.isInvalid, !response.status.isInterim else { return false }
        // RFC 9110 §7.8: a 101 names its protocol, and HTTP/1.0 has no Upgrade.
        return response.status != .switchingProtocols || (response.hasUpgrade && version == .http11)
    }

    private mutating func writeFailure(into output: inout [UInt8]) {
        closesConnection = true
        write(Response(.internalServerError), into: &output)
    }

    // MARK: Streamed responses

    /// Begins a response of unknown length: chunked, or for HTTP/1.0 until the connection is closed.
    package mutating func beginStream(_ response: Response, into output: inout [UInt8]) {
        guard state == .ready else { return }
        guard isWritable(response), !response.status.forbidsContent else {
            return response.status.forbidsContent
                ? write(response, into: &output) : writeFailure(into: &output)
        }
        // RFC 9112 §6.1: no Transfer-Encoding unless the request is HTTP/1.1.
        if version == .http10 { closesConnection = true }
        state = isHead ? .noContent : version == .http11 ? .chunks : .untilClose
        writeStart(response, into: &output)
        if version == .http11 { output += "Transfer-Encoding: chunked\r\n".utf8 }
        output += "\r\n".utf8
    }

    /// An empty piece writes nothing, because an empty chunk would be the last one.
    package mutating func writePiece(_ piece: Span<UInt8>, into output: inout [UInt8]) {
        guard !piece.isEmpty else { return }
        switch state {
        case .chunks:
            output.append(number: piece.count, radix: 16)
            output += "\r\n".utf8
            output.append(copying: piece)
            output += "\r\n".utf8
        case .untilClose: output.append(copying: piece)
        case .ready, .noContent, .ended: break
        }
    }

    package mutating func endStream(into output: inout [UInt8]) {
        if state == .chunks { output += "0\r\n\r\n".utf8 }
        if state != .ready { state = .ended }
    }

    // MARK: The header

    /// RFC 9112 §2.3: the version is the server's own, independent of the request's.
    private func writeStart(_ response: Response, into output: inout [UInt8]) {
        output += "HTTP/1.1 ".utf8
        output.append(number: response.status.code, radix: 10)
        output += " ".utf8
        output += response.status.reasonPhrase.utf8
        output += "\r\n".utf8
        output += response.lines
        writeConnection(response, into: &output)
    }

    /// RFC 9112 §9.6 and §9.3. RFC 9110 §7.8: an Upgrade field requires the `upgrade` connection option.
    private func writeConnection(_ response: Response, into output: inout [UInt8]) {
        guard response.status != .switchingProtocols else { return output += "Connection: Upgrade\r\n".utf8 }
        output += (closesConnection ? "Connection: close" : "Connection: keep-alive").utf8
        output += (response.hasUpgrade ? ", Upgrade\r\n" : "\r\n").utf8
    }
}
