/// One variable of the Mud Server Status Protocol, which can have several values.
package struct MSSPVariable: Hashable, Sendable {
    package let name: String
    package let values: [String]

    package init(name: String, values: [String]) {
        self.name = name
        self.values = values
    }
}
