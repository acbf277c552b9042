import CLibwebsockets

/// An answer's bytes on their way into the socket, a piece at a time: libwebsockets never has to hold any back.
struct OutgoingAnswer {
    enum Progress {
        /// All is written and, unless the connection ends here, there is room for more.
        case done
        case full
        case broken
    }

    let closesConnection: Bool
    private let bytes: [UInt8]
    private var written = 0
    private static let pieceBytes = 4_096

    /// - Parameters:
    ///   - omittingBody: the answer to a HEAD.
    ///   - isSecure: over TLS.
    init(_ answer: HTTPAnswer, omittingBody: Bool, isSecure: Bool) {
        closesConnection = answer.closesConnection
        bytes = answer.serialized(omittingBody: omittingBody, isSecure: isSecure)
    }

    private var isWritten: Bool { written == bytes.count }

    /// Writes as much as the socket takes.
    mutating func write(to wsi: OpaquePointer) -> Progress {
        while lws_send_pipe_choked(wsi) == 0 {
            guard !isWritten else { return .done }
            guard writePiece(to: wsi), lws_partial_buffered(wsi) == 0 else { return .broken }
        }
        return isWritten && closesConnection ? .done : .full
    }

    private mutating func writePiece(to wsi: OpaquePointer) -> Bool {
        let piece = bytes[written...].prefix(Self.pieceBytes)
        written += piece.count
        return withUnsafeTemporaryAllocation(byteCount: PORTCULLIS_LWS_PRE + piece.count, alignment: 16) { buffer in
            let payload = UnsafeMutableRawBufferPointer(rebasing: buffer[PORTCULLIS_LWS_PRE...])
            payload.copyBytes(from: piece)
            let start = payload.baseAddress!.assumingMemoryBound(to: UInt8.self)
            return lws_write(wsi, start, piece.count, LWS_WRITE_HTTP_HEADERS) >= 0
        }
    }
}
