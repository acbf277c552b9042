/// Reads and writes the messages of one dialect.
protocol SessionCodec: Sendable {
    /// Output is counted in bytes, not in messages.
    var countsBytes: Bool { get }
    /// Inputs have numbers, and the gateway confirms each.
    var numbersInputs: Bool { get }

    func message(_ bytes: [UInt8], isText: Bool, maximumBytes: Int) throws(MessageFault) -> GatewayMessage

    func input(_ text: [UInt8], number: UInt64) -> WebSocketMessage
    /// Nil: the dialect has no such message.
    func gmcp(_ name: String, _ json: [UInt8]?) -> WebSocketMessage?
    func size(_ size: TerminalSize) -> WebSocketMessage?
    /// The first message of a new connection; nil: none is needed.
    func greeting(_ greeting: SessionGreeting) -> WebSocketMessage?
    /// Confirms received messages.
    func acknowledgement(_ session: SessionIdentity, upTo sequence: UInt64) -> WebSocketMessage?
    /// Ends the session; nil: a Close frame does.
    func farewell() -> WebSocketMessage?
}

/// What a connection begins with.
enum SessionGreeting: Sendable {
    case connect(TerminalSize?)
    case resume(SessionIdentity, after: UInt64)
}

extension SessionDialect {
    var codec: any SessionCodec {
        switch self {
        case .typed: TypedCodec()
        case .gmcp: GMCPCodec()
        case .json: JSONCodec()
        case .raw: RawCodec()
        }
    }
}

/// The service's own bytes.
struct RawCodec: SessionCodec {
    var countsBytes: Bool { true }
    var numbersInputs: Bool { false }

    func message(_ bytes: [UInt8], isText: Bool, maximumBytes: Int) throws(MessageFault) -> GatewayMessage {
        .content(.output(bytes), .init())
    }

    func input(_ text: [UInt8], number: UInt64) -> WebSocketMessage { .binary(text) }
    func gmcp(_ name: String, _ json: [UInt8]?) -> WebSocketMessage? { nil }
    func size(_ size: TerminalSize) -> WebSocketMessage? { nil }
    func greeting(_ greeting: SessionGreeting) -> WebSocketMessage? { nil }
    func acknowledgement(_ session: SessionIdentity, upTo sequence: UInt64) -> WebSocketMessage? { nil }
    func farewell() -> WebSocketMessage? { nil }
}
