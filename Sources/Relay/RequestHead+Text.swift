import Admission
import HTTPWire

extension RequestHead {
    /// All fields of a name, joined with commas in their order (RFC 9110 §5.3); nil where there is none.
    func text(_ name: String) -> String? {
        let values = fields.all(name)
        return values.isEmpty ? nil : values.map { String(decoding: $0, as: UTF8.self) }.joined(separator: ", ")
    }

    /// The values of all fields of a name, in their order.
    func texts(_ name: String) -> [String] { fields.all(name).map { String(decoding: $0, as: UTF8.self) } }

    /// The same as `text`, but nil for an empty value.
    func nonEmptyText(_ name: String) -> String? { text(name).flatMap { $0.isEmpty ? nil : $0 } }

    /// The first of these fields that is repeated although it must not be: servers differ in which of two values they use.
    func firstRepeated(_ names: [String]) -> String? { names.first { fields.count($0) > 1 } }

    /// A field with credentials or the client's address that the request repeats.
    func repeatedCredentialField(_ gate: Gate) -> String? {
        firstRepeated(["authorization", "origin"]) ?? firstRepeated(gate.fields.headers)
    }
}
