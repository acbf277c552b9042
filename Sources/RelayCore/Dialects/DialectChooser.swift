/// What a connection speaks that names no subprotocol (`DEFAULT_DIALECT`).
package enum DefaultDialect: Hashable, Sendable {
    /// As the first message shows, and raw where it shows nothing or doesn't come in time.
    case auto
    case fixed(DialectKind)

}

extension DefaultDialect: RawRepresentable, CaseIterable {
    package static let allCases = [auto] + DialectKind.allCases.map(fixed)

    /// - Parameter rawValue: `auto` or the name of a dialect.
    package init?(rawValue: String) {
        guard let found = Self.allCases.first(where: { $0.rawValue == rawValue }) else { return nil }
        self = found
    }

    package var rawValue: String {
        switch self {
        case .auto: "auto"
        case .fixed(let kind): kind.rawValue
        }
    }
}

/// Chooses the dialect of one connection, once.
///
/// A subprotocol or a fixed default chooses at once. Otherwise the first message does: an object with `type` is typed, one with
/// `connect` is legacy, anything else is raw. MUDs speak first, and so may wait for a client that waits for them: after a time
/// without a first message the connection is raw. Until then what either side has said is held here, within limits.
package struct DialectChooser: Sendable {
    /// `DIALECT_WAIT_MS`, in nanoseconds.
    package static let defaultWait: UInt64 = 1_500_000_000
    /// Of the target's output while nothing is chosen.
    package static let maximumHeldOutput = 16_384

    package private(set) var kind: DialectKind?
    /// When `tick` wants to be called; nil once the dialect is chosen.
    package var deadline: UInt64? { kind == nil ? waitEnd : nil }

    private let waitEnd: UInt64
    private let maximumMessageBytes: Int
    private var heldOutput: [UInt8] = []
    private var message: [UInt8] = []
    /// The message's first byte that isn't space.
    private var firstByte: UInt8?
    private var isMessageText = true
    private var isMessageComplete = false

    /// - Parameters:
    ///   - subprotocol: the one that the upgrade has agreed on.
    ///   - wait: how long a first message is waited for, in nanoseconds.
    ///   - now: nanoseconds of a monotonic clock.
    package init(
        subprotocol: String?, standard: DefaultDialect, wait: UInt64 = defaultWait,
        maximumMessageBytes: Int = Translation.defaultMaximumMessageBytes, now: UInt64
    ) {
        if let subprotocol, let named = DialectKind(subprotocol: subprotocol) {
            kind = named
        } else if case .fixed(let fixed) = standard {
            kind = fixed
        }
        self.maximumMessageBytes = maximumMessageBytes
        let (end, isOverflown) = now.addingReportingOverflow(wait)
        waitEnd = isOverflown ? .max : end
    }

    // MARK: What decides

    /// Takes a piece of the first message. To be called while nothing is chosen; the pieces behind it are the session's.
    ///
    /// - Returns: the dialect, when this piece has decided it. The message is then to be had from ``takeHeldMessage()``.
    package mutating func receive(_ piece: ArraySlice<UInt8>, isText: Bool, isLast: Bool) -> DialectKind? {
        guard kind == nil else { return nil }
        message.append(contentsOf: piece)
        firstByte = firstByte ?? piece.firstNonBlank
        isMessageText = isText
        isMessageComplete = isLast
        // Only an object is worth waiting for its end; and nothing is held that no dialect would take.
        let isWorthWaiting = firstByte == nil || firstByte == UInt8(ascii: "{")
        guard isLast || !isWorthWaiting || message.count > maximumMessageBytes else { return nil }
        kind = recognised
        return kind
    }

    private var recognised: DialectKind {
        guard isMessageComplete, message.count <= maximumMessageBytes, firstByte == UInt8(ascii: "{"),
            case .object(let object)? = try? JSONReader.read(message[...])
        else { return .raw }
        if object["type"] != nil { return .typed }
        return object.asksToConnect ? .legacy : .raw
    }

    /// - Returns: raw, when the wait is over and nothing was chosen.
    package mutating func tick(now: UInt64) -> DialectKind? {
        guard kind == nil, now >= waitEnd else { return nil }
        kind = .raw
        return kind
    }

    // MARK: What is held

    /// Takes output of the target as far as there is room; the rest stays in `input` and with the caller, who stops reading.
    package mutating func hold(_ input: inout ArraySlice<UInt8>) {
        let taken = input.prefix(Self.maximumHeldOutput - heldOutput.count)
        heldOutput.append(contentsOf: taken)
        input = input.dropFirst(taken.count)
    }

    package var canHold: Bool { heldOutput.count < Self.maximumHeldOutput }

    /// The target's output so far. Of use once the dialect is chosen; after it nothing is held.
    package mutating func takeHeldOutput() -> [UInt8] {
        defer { heldOutput = [] }
        return heldOutput
    }

    /// What has come of the first message, to be given on as if it came now. nil if nothing has.
    package mutating func takeHeldMessage() -> (bytes: [UInt8], isText: Bool, isLast: Bool)? {
        defer { message = [] }
        return message.isEmpty && !isMessageComplete ? nil : (message, isMessageText, isMessageComplete)
    }
}
