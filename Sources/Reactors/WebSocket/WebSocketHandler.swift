/// What a WebSocket tells its owner, on the reactor's thread. `webSocketClosed` is the last call, and comes exactly once.
package protocol WebSocketEvents: AnyObject {
    /// A piece of a text or binary message's payload; the pieces of a message come in order, and none after a Close.
    /// The bytes are gone when this returns.
    func webSocketReceived(_ piece: MessagePiece)
    /// The peer sent a Close frame (RFC 6455 §5.5.1); its answer is on the way. `code` is nil where it named none.
    func webSocketPeerClosed(code: UInt16?)
    /// Something was heard from the peer that carries no payload.
    func webSocketHeardPong()
    /// All or some of what waited has been handed to the socket; `queuedBytes` tells what still waits.
    func webSocketWrote()
    func webSocketClosed()
}

/// A client's WebSocket, as the gateway hears it.
package protocol WebSocketHandler: WebSocketEvents {
    func webSocketOpened(_ webSocket: WebSocketConnection)
    /// A Ping or a Pong came: it costs something, as a message does.
    ///
    /// - Parameter bytes: of its payload.
    func webSocketReceivedControlFrame(bytes: Int)
    /// The client broke RFC 6455, or sent more at once than it may. Its connection ends, and ``WebSocketEvents/webSocketClosed()`` follows.
    ///
    /// - Parameter code: of the Close frame.
    func webSocketPeerFailed(code: UInt16)
    /// Compressed input came that inflated to less than it has itself.
    ///
    /// - Parameter bytes: how much more it was.
    func webSocketReceivedSurplus(bytes: Int)
}

extension WebSocketHandler {
    package func webSocketPeerFailed(code: UInt16) {}
    package func webSocketReceivedSurplus(bytes: Int) {}
}

/// A piece of a message's payload, however the peer and TCP have cut it. A message has exactly one first piece and, unless the
/// connection ends before, one last; both may be the same, and any may be empty.
package struct MessagePiece {
    package let bytes: UnsafeRawBufferPointer
    /// The same for all pieces of a message.
    package let isText: Bool
    package let isFirst: Bool
    package let isLast: Bool
}
