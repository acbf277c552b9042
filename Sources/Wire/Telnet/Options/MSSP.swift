import WireText

/// One variable of the Mud Server Status Protocol, which can have several values.
package struct MSSPVariable: Sendable {
    package let name: String
    package let values: [String]

    package init(name: String, values: [String]) {
        self.name = name
        self.values = values
    }
}

extension MSSPVariable: Equatable {
    package static func == (one: MSSPVariable, other: MSSPVariable) -> Bool {
        one.name.hasSameBytes(as: other.name)
            && one.values.elementsEqual(other.values) { $0.hasSameBytes(as: $1) }
    }
}

/// The Mud Server Status Protocol: `VAR name VAL value`, where a variable may have several values.
package enum MSSP {
    /// The total of variables and values in one subnegotiation. Further ones are dropped.
    package static let maximumItems = 1_024

    private static let variable: UInt8 = 1
    private static let value: UInt8 = 2

    static func variables(in payload: [UInt8]) -> [MSSPVariable] {
        var variables: [MSSPVariable] = []
        var name: ArraySlice<UInt8>?
        var values: [String] = []
        func finish() {
            guard let name, !name.isEmpty else { return }
            variables.append(MSSPVariable(name: TextDecoder.string(name), values: values))
        }
        var rest = payload[...]
        for _ in 0..<maximumItems {
            guard let mark = rest.popFirst() else { break }
            let end = rest.firstIndex { $0 == variable || $0 == value } ?? rest.endIndex
            if mark == variable {
                finish()
                (name, values) = (rest[..<end], [])
            } else if mark == value, name != nil {
                values.append(TextDecoder.string(rest[..<end]))
            }
            rest = rest[end...]
        }
        finish()
        return variables
    }
}
