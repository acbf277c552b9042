/// Why a statement has no answer. The texts are for the operator: they name causes, and never contain a parameter or a
/// password.
package enum DatabaseError: Error, Hashable, Sendable {
    /// Too many statements wait already. Nothing was done.
    case queueFull
    /// No connection was free before the deadline, or the server gave up. Nothing was done.
    case timedOut
    /// There is no connection, or the server hasn't answered for a while. Nothing was done.
    case unreachable(String, retryAfterSeconds: Int)
    /// It was sent, and the answer never came: it may have been done or not.
    case unknown(String)
    /// The server refused it. Nothing was done.
    case refused(SQLState, String)
    /// The answer has more rows or bytes than the statement allows.
    case tooLarge
    /// The answer isn't of the form that the statement has.
    case malformed
}

/// A SQLSTATE: five digits and capital letters, of which two are the class.
package struct SQLState: Hashable, Sendable, CustomStringConvertible {
    package let code: String

    /// What a caller can do about it.
    package enum Kind: Hashable, Sendable {
        /// Another statement was in the way: the same statement may succeed at once.
        case conflict
        /// The server is a standby by now, or was made read-only.
        case readOnly
        case diskFull
        case shuttingDown
        /// Another session held a lock for longer than `lock_timeout`.
        case locked
        /// `statement_timeout`.
        case canceled
        /// The tables or functions aren't those that the statement expects.
        case schema
        case uniqueViolation
        case other
    }

    package init(_ code: String) {
        let isValid = code.utf8.count == 5 && code.utf8.allSatisfy { (48...57).contains($0) || (65...90).contains($0) }
        self.code = isValid ? code : "XX000"
    }

    package var kind: Kind {
        switch code {
        case "40001", "40P01", "55006": .conflict
        case "25006": .readOnly
        case "53100": .diskFull
        case "57P01", "57P02", "57P03": .shuttingDown
        case "55P03": .locked
        case "57014": .canceled
        case "23505": .uniqueViolation
        default:
            switch code.prefix(2) {
            case "42", "3F", "0A", "26": .schema
            default: .other
            }
        }
    }

    /// Whether the primary message can be shown. Those of other classes may quote a value.
    var hasHarmlessMessage: Bool {
        ["08", "25", "28", "3D", "3F", "42", "53", "55", "57", "58"].contains(code.prefix(2))
    }

    package var description: String { code }
}

extension DatabaseError: CustomStringConvertible {
    /// What an operator is told who meets a lock.
    package static let locked =
        "another session of the database holds a lock that this needs, and hasn't freed it in time; pg_locks and"
        + " pg_stat_activity name it"

    package var description: String {
        switch self {
        case .queueFull: "too many statements wait for the database"
        case .timedOut: "the database did not answer in time"
        case .unreachable(let text, _): "the database can't be reached: \(text)"
        case .unknown(let text): "the database's answer is unknown: \(text)"
        case .refused(let state, _) where state.kind == .locked: "\(Self.locked) (SQLSTATE \(state))"
        case .refused(let state, let text):
            text.isEmpty ? "the database refused it (SQLSTATE \(state))" : "\(text) (SQLSTATE \(state))"
        case .tooLarge: "the database's answer is too large"
        case .malformed: "the database's answer has an unexpected form"
        }
    }
}
