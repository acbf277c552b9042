import WireText

/// The Mud Server Data Protocol: `VAR name VAL value`, any number of times, where a value is a string, a table or an
/// array.
package enum MSDP {
    /// The deepest nesting of tables and arrays.
    package static let maximumDepth = 32
    /// Names and values in one subnegotiation. Further items are dropped.
    package static let maximumItems = 8_192
    /// The longest name of a variable, in bytes.
    package static let maximumNameBytes = 1_024

    enum Mark: UInt8 {
        case variable = 1
        case value = 2
        case tableOpen = 3
        case tableClose = 4
        case arrayOpen = 5
        case arrayClose = 6
    }

    /// Whether a subnegotiation can hold the value: each name has a byte that MSDP can encode, and the depth is at most
    /// ``maximumDepth``.
    package static func canSay(name: String, value: MSDPValue) -> Bool { payload(name: name, value: value) != nil }

    /// - Returns: nil if the value is deeper than ``maximumDepth`` or a name is empty.
    package static func payload(name: String, value: MSDPValue) -> [UInt8]? {
        var payload: [UInt8] = []
        guard append(MSDPEntry(name: name, value: value), to: &payload, depth: 0) else { return nil }
        return payload
    }

    private static func append(_ entry: MSDPEntry, to output: inout [UInt8], depth: Int) -> Bool {
        let start = output.count + 1
        append(.variable, entry.name, to: &output)
        guard output.count > start else { return false }
        output.append(Mark.value.rawValue)
        return append(entry.value, to: &output, depth: depth)
    }

    private static func append(_ value: MSDPValue, to output: inout [UInt8], depth: Int) -> Bool {
        switch value {
        case .string(let text):
            append(nil, text, to: &output)
            return true
        case .table(let entries):
            guard depth < maximumDepth else { return false }
            output.append(Mark.tableOpen.rawValue)
            guard entries.allSatisfy({ append($0, to: &output, depth: depth + 1) }) else { return false }
            output.append(Mark.tableClose.rawValue)
            return true
        case .array(let values):
            guard depth < maximumDepth else { return false }
            output.append(Mark.arrayOpen.rawValue)
            for value in values {
                output.append(Mark.value.rawValue)
                guard append(value, to: &output, depth: depth + 1) else { return false }
            }
            output.append(Mark.arrayClose.rawValue)
            return true
        }
    }

    /// A string can't hold NUL or a marker byte: both are left out.
    private static func append(_ mark: Mark?, _ text: String, to output: inout [UInt8]) {
        if let mark { output.append(mark.rawValue) }
        output += text.utf8.lazy.filter { $0 > Mark.arrayClose.rawValue }
    }
}

/// Reads an MSDP subnegotiation one variable at a time, so that the caller needn't hold them all.
///
/// Reading ends at the first invalid byte: earlier variables are delivered, the rest is dropped.
struct MSDPReader {
    private var rest: ArraySlice<UInt8>
    private var itemsLeft = MSDP.maximumItems

    init(_ payload: [UInt8]) {
        rest = payload[...]
    }

    /// What hasn't been read yet, and how many items may still follow.
    struct State: Codable {
        var rest: [UInt8]
        var itemsLeft: Int
    }

    var state: State { State(rest: Array(rest), itemsLeft: itemsLeft) }

    init(_ state: State) {
        rest = state.rest[...]
        itemsLeft = min(state.itemsLeft, MSDP.maximumItems)
    }

    mutating func next() -> MSDPEntry? {
        guard let entry = entry(depth: 0) else {
            rest = []
            return nil
        }
        return entry
    }

    private mutating func entry(depth: Int) -> MSDPEntry? {
        guard take(.variable), countItem() else { return nil }
        let bytes = takeString()
        guard bytes.count <= MSDP.maximumNameBytes else { return nil }
        // Decoding drops NULs, so the name may be empty after it.
        let name = TextDecoder.string(bytes)
        guard !name.isEmpty, let value = values(depth: depth) else { return nil }
        return MSDPEntry(name: name, value: value)
    }

    /// A variable's values: several in a row form an array, and none is an empty string.
    private mutating func values(depth: Int) -> MSDPValue? {
        guard let values = list(depth: depth) else { return nil }
        guard values.count > 1 else { return values.first ?? .string("") }
        // An implicit array: only now it is known that the values lie a level deeper.
        let array = MSDPValue.array(values)
        return depth + array.depth <= MSDP.maximumDepth ? array : nil
    }

    /// `VAL value`, any number of times.
    private mutating func list(depth: Int) -> [MSDPValue]? {
        var values: [MSDPValue] = []
        while take(.value) {
            guard let value = value(depth: depth) else { return nil }
            values.append(value)
        }
        return values
    }

    private mutating func value(depth: Int) -> MSDPValue? {
        guard countItem() else { return nil }
        if take(.tableOpen) {
            var entries: [MSDPEntry] = []
            while depth < MSDP.maximumDepth, !take(.tableClose) {
                guard let entry = entry(depth: depth + 1) else { return nil }
                entries.append(entry)
            }
            return depth < MSDP.maximumDepth ? .table(entries) : nil
        }
        if take(.arrayOpen) {
            guard depth < MSDP.maximumDepth, let values = list(depth: depth + 1), take(.arrayClose) else { return nil }
            return .array(values)
        }
        return .string(TextDecoder.string(takeString()))
    }

    private mutating func countItem() -> Bool {
        itemsLeft -= 1
        return itemsLeft >= 0
    }

    private mutating func take(_ mark: MSDP.Mark) -> Bool {
        guard rest.first == mark.rawValue else { return false }
        rest.removeFirst()
        return true
    }

    /// Up to the next mark.
    private mutating func takeString() -> ArraySlice<UInt8> {
        let end = rest.firstIndex { MSDP.Mark(rawValue: $0) != nil } ?? rest.endIndex
        defer { rest = rest[end...] }
        return rest[..<end]
    }
}

/// A value of the Mud Server Data Protocol: a string, a table or an array of values, nested at most
/// ``MSDP/maximumDepth`` deep.
package enum MSDPValue: Codable, Sendable {
    case string(String)
    /// In the target's order; a name may occur twice.
    case table([MSDPEntry])
    case array([MSDPValue])

    /// The nesting depth of tables and arrays; 0 for a string.
    var depth: Int {
        switch self {
        case .string: 0
        case .table(let entries): entries.reduce(1) { max($0, 1 + $1.value.depth) }
        case .array(let values): values.reduce(1) { max($0, 1 + $1.depth) }
        }
    }
}

/// One name of an MSDP table.
package struct MSDPEntry: Codable, Sendable {
    package let name: String
    package let value: MSDPValue

    package init(name: String, value: MSDPValue) {
        self.name = name
        self.value = value
    }
}

// Names and texts are the target's or a client's.
extension MSDPValue: Equatable {
    package static func == (one: MSDPValue, other: MSDPValue) -> Bool {
        switch (one, other) {
        case (.string(let one), .string(let other)): one.hasSameBytes(as: other)
        case (.array(let one), .array(let other)): one == other
        case (.table(let one), .table(let other)): one == other
        default: false
        }
    }
}

extension MSDPEntry: Equatable {
    package static func == (one: MSDPEntry, other: MSDPEntry) -> Bool {
        one.name.hasSameBytes(as: other.name) && one.value == other.value
    }
}
