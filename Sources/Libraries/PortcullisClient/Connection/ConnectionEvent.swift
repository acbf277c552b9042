public import Foundation

/// What happens on a ``GatedConnection``, in order.
public enum ConnectionEvent: Sendable {
    case state(ConnectionState)
    /// Text of the service in UTF-8, with its ANSI sequences; in raw its own bytes.
    case output(SessionOutput)
    /// The output before it is a prompt.
    case prompt
    case gmcp(GMCPMessage)
    /// The service hides what the player types, as for a password, or no longer does.
    case echo(isSuppressed: Bool)
    /// Output was lost for good.
    case gap(OutputGap)
    /// What became of inputs.
    case input(InputOutcome)
    /// The gateway's word on a message that it didn't accept, or on one that this version doesn't understand.
    case notice(SessionNotice)
}

public enum ConnectionState: Sendable, Equatable {
    /// - Parameter attempt: from 1, since the last time that there was a connection.
    case connecting(attempt: Int)
    /// - Parameter isResumed: false: the session is new.
    case connected(isResumed: Bool)
    /// The connection is lost, and comes back by itself.
    case waiting(seconds: Double, because: GateError?)
    /// The last event. The reason says what to do.
    case ended(ConnectionEnd)
}

public struct SessionOutput: Sendable, Equatable {
    public let bytes: Data
    /// It was missed while the connection was lost.
    public let isReplayed: Bool

    init(_ bytes: [UInt8], isReplayed: Bool) { (self.bytes, self.isReplayed) = (Data(bytes), isReplayed) }

    /// What isn't UTF-8 is replaced. A character may be split between two outputs in raw only.
    public var text: String { String(decoding: bytes, as: UTF8.self) }
}

public struct GMCPMessage: Sendable {
    /// For instance `Char.Vitals`. MSDP, MSSP and ATCP have names that begin with these words and a dot.
    public let name: String
    /// JSON, nested at most 32 levels deep; nil if the message has none.
    public let json: Data?
    /// It tells a state that may be old, not something new.
    public let isReplayed: Bool

    init(_ name: String, _ json: [UInt8]?, isReplayed: Bool) {
        (self.name, self.json, self.isReplayed) = (name, json.map { Data($0) }, isReplayed)
    }

    /// Decodes the data.
    public func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        try JSONDecoder().decode(type, from: json ?? Data("null".utf8))
    }
}

public struct OutputGap: Sendable, Equatable {
    /// Nil: not known.
    public let bytes: UInt64?
}

/// Numbers an input of a session, from 1.
public typealias InputNumber = UInt64

public enum InputOutcome: Sendable, Equatable {
    /// The gateway has it, and has passed it on or will do so.
    case delivered(InputNumber)
    /// The gateway didn't apply it. It may be sent again.
    case refused(InputNumber, code: String)
    /// The connection was lost before anything confirmed these. They may have arrived, and they aren't sent again by
    /// themselves.
    case uncertain([InputNumber])
    /// These didn't arrive, and won't.
    case undelivered([InputNumber])
}

public struct SessionNotice: Sendable, Equatable {
    /// The gateway's code, or `malformed` for a message that can't be read.
    public let code: String
    public let message: String
}

/// Why a ``GatedConnection`` has ended, and what to do.
public struct ConnectionEnd: Sendable, Equatable {
    public enum Cause: Sendable, Equatable {
        /// The service ended the session: the player has quit, for instance.
        case serviceClosed
        /// The app called `close()`.
        case clientClosed
        /// The session doesn't exist any more, or can't be resumed.
        case sessionExpired
        /// Another connection has resumed the session.
        case sessionReplaced
        /// The session was older than the gateway allows.
        case sessionTimeout
        /// It was ended to make room for another session of this client.
        case sessionEvicted
        /// This client, or its address, has too many sessions.
        case tooManySessions
        /// The operator has closed it.
        case closedByOperator
        /// The operator has blocked this client, or revoked its key.
        case blocked
        /// The service couldn't be reached, or broke its connection.
        case serviceUnreachable
        case serviceNotAllowed
        /// A session of raw, which can't be resumed, has lost its connection.
        case connectionLost
        /// The gate couldn't be reached in time.
        case unreachable
        /// The gate refused, or the attempt failed in another way: see ``ConnectionEnd/error``.
        case failed
        case protocolViolation
    }

    public enum Action: Sendable, Equatable {
        case nothing
        /// Begin a new connection. The player has to log in again.
        case connectAgain
        /// The same after this many seconds.
        case connectLater(seconds: Double)
        /// Ask the user before beginning a new connection.
        case askUser
        /// Show ``GateError/userMessage``, and don't connect again before something has changed.
        case giveUp
    }

    public let cause: Cause
    public let action: Action
    public let error: GateError?

    init(_ cause: Cause, _ action: Action, _ error: GateError? = nil) {
        (self.cause, self.action, self.error) = (cause, action, error)
    }
}
