import StrictJSON
import WireText

/// The dialect of a connection that names no subprotocol (`DEFAULT_DIALECT`).
package enum DefaultDialect: Hashable, Sendable {
    /// Detected from the first message; raw if the message doesn't identify a dialect or doesn't come in time.
    case auto
    case fixed(DialectKind)

}

extension DefaultDialect: RawRepresentable, CaseIterable {
    package static let allCases = [auto] + DialectKind.allCases.map(fixed)

    /// - Parameter rawValue: `auto` or the name of a dialect.
    package init?(rawValue: String) {
        guard let found = Self.allCases.first(where: { $0.rawValue.hasSameBytes(as: rawValue) }) else { return nil }
        self = found
    }

    package var rawValue: String {
        switch self {
        case .auto: "auto"
        case .fixed(let kind): kind.rawValue
        }
    }
}

/// Chooses the dialect of one connection once.
///
/// A subprotocol or a fixed default chooses at once. Otherwise the first message does: an object with `type` is typed,
/// one with `connect` is legacy, anything else is raw. MUDs speak first, so a raw client may wait for the MUD: after a
/// time without a first message the connection is raw. Until then the output of both sides is held here, within limits.
package struct DialectChooser: Sendable {
    /// `DIALECT_WAIT_MS`, in nanoseconds.
    package static let defaultWait: UInt64 = 1_500_000_000
    /// The most output of the target held while no dialect is chosen.
    package static let maximumHeldOutput = 16_384

    package private(set) var kind: DialectKind?
    /// When to call `tick`; nil once the dialect is chosen.
    package var deadline: UInt64? { kind == nil ? waitEnd : nil }

    private let waitEnd: UInt64
    private let maximumMessageBytes: Int
    private var heldOutput: [UInt8] = []
    private var message: [UInt8] = []
    /// The message's first byte that isn't white space.
    private var firstByte: UInt8?
    private var isMessageText = true
    private var isMessageComplete = false

    /// - Parameters:
    ///   - subprotocol: the subprotocol agreed in the upgrade.
    ///   - wait: how long to wait for a first message, in nanoseconds.
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

    /// Takes a piece of the first message. Call it only while no dialect is chosen; later pieces belong to the session.
    ///
    /// - Returns: the dialect, if this piece decided it. ``takeHeldMessage()`` then returns the message.
    package mutating func receive(_ piece: ArraySlice<UInt8>, isText: Bool, isLast: Bool) -> DialectKind? {
        guard kind == nil else { return nil }
        message.append(contentsOf: piece)
        firstByte = firstByte ?? piece.firstNonBlank
        isMessageText = isText
        isMessageComplete = isLast
        // Only an object needs its end to be identified, and a message too long for every dialect isn't held.
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

    /// - Returns: raw, if the wait is over and no dialect was chosen.
    package mutating func tick(now: UInt64) -> DialectKind? {
        guard kind == nil, now >= waitEnd else { return nil }
        kind = .raw
        return kind
    }

    // MARK: What is held

    /// Takes output of the target as far as there is room; the rest stays in `input`, and the caller stops reading.
    package mutating func hold(_ input: inout ArraySlice<UInt8>) {
        let taken = input.prefix(Self.maximumHeldOutput - heldOutput.count)
        heldOutput.append(contentsOf: taken)
        input = input.dropFirst(taken.count)
    }

    package var canHold: Bool { heldOutput.count < Self.maximumHeldOutput }

    /// The target's output so far. Call it once the dialect is chosen; nothing is held after that.
    package mutating func takeHeldOutput() -> [UInt8] {
        defer { heldOutput = [] }
        return heldOutput
    }

    /// The received part of the first message, to be processed as if it came now; nil if nothing was received.
    package mutating func takeHeldMessage() -> (bytes: [UInt8], isText: Bool, isLast: Bool)? {
        defer { message = [] }
        return message.isEmpty && !isMessageComplete ? nil : (message, isMessageText, isMessageComplete)
    }
}
