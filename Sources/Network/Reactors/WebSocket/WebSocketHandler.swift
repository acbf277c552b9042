/// The events of a WebSocket, on the reactor's thread. `webSocketClosed` is the last call and comes exactly once.
package protocol WebSocketEvents: AnyObject {
    /// A piece of a text or binary message's payload. The pieces of a message come in order, and none comes after a
    /// Close frame. The bytes are valid only during the call.
    func webSocketReceived(_ piece: MessagePiece)
    /// The peer sent a Close frame (RFC 6455 §5.5.1); the answer is sent automatically. `code` is nil if the frame has
    /// none.
    func webSocketPeerClosed(code: UInt16?)
    /// The peer sent a Pong, which carries no application data.
    func webSocketHeardPong()
    /// Some or all of the queued bytes were handed to the socket; `queuedBytes` is the rest.
    func webSocketWrote()
    func webSocketClosed()
}

/// The events of a client's WebSocket on the gateway's side.
package protocol WebSocketHandler: WebSocketEvents {
    func webSocketOpened(_ webSocket: WebSocketConnection)
    /// A Ping or Pong was received. It counts toward the rate of messages.
    ///
    /// - Parameter bytes: the size of its payload.
    func webSocketReceivedControlFrame(bytes: Int)
    /// The client violated RFC 6455 or exceeded a message limit. Its connection ends, and
    /// ``WebSocketEvents/webSocketClosed()`` follows.
    ///
    /// - Parameter code: the code of the Close frame.
    func webSocketPeerFailed(code: UInt16)
    /// Input was processed, whatever it contained. Called for each read, behind the messages in it.
    ///
    /// - Parameters:
    ///   - octets: on the wire, TLS included; and where messages inflated to more, the difference.
    ///   - steps: frames, and reads of TLS records and of the socket.
    func webSocketWasRead(octets: Int, steps: Int)
}

extension WebSocketHandler {
    package func webSocketPeerFailed(code: UInt16) {}
    package func webSocketWasRead(octets: Int, steps: Int) {}
}

/// A piece of a message's payload, split arbitrarily by the peer and TCP. A message has exactly one first piece and,
/// unless the connection ends before, one last piece. Both may be the same, and any piece may be empty.
package struct MessagePiece {
    package let bytes: UnsafeRawBufferPointer
    /// The same for all pieces of a message.
    package let isText: Bool
    package let isFirst: Bool
    package let isLast: Bool
}
