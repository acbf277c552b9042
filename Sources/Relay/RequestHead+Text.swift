import Admission
import HTTPWire

extension RequestHead {
    /// All fields of a name, joined with commas in their order (RFC 9110 §5.3); nil where there is none.
    func text(_ name: String) -> String? {
        let values = fields.all(name)
        return values.isEmpty ? nil : values.map { String(decoding: $0, as: UTF8.self) }.joined(separator: ", ")
    }

    /// The same, and nil for an empty one.
    func nonEmptyText(_ name: String) -> String? { text(name).flatMap { $0.isEmpty ? nil : $0 } }

    /// Of a list of fields the first that must not be there twice and is: which of two another server would read can't be known.
    func firstRepeated(_ names: [String]) -> String? { names.first { fields.count($0) > 1 } }

    /// Of the fields that say who the client is, or where it comes from, one that the request repeats.
    func repeatedCredentialField(_ gate: Gate) -> String? {
        firstRepeated(["authorization", "origin"]) ?? firstRepeated(gate.fields.headers)
    }
}
