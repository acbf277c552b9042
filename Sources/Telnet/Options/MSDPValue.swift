/// A value of the Mud Server Data Protocol: a string, a table or an array of values, nested at most ``MSDP/maximumDepth`` deep.
package enum MSDPValue: Hashable, Sendable {
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
package struct MSDPEntry: Hashable, Sendable {
    package let name: String
    package let value: MSDPValue

    package init(name: String, value: MSDPValue) {
        self.name = name
        self.value = value
    }
}
