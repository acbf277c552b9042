/// The names of the header fields and query parameters that may carry a credential. Header names are lower case.
package struct CredentialFieldNames: Sendable, Equatable {
    package var headers: [String]
    package var parameters: [String]

    package init(headers: [String] = [], parameters: [String] = []) {
        self.headers = headers
        self.parameters = parameters
    }
}

/// The values of these fields in a request, and nothing else.
package struct CredentialFields: Sendable {
    private struct Field: Sendable {
        let name: String
        let value: String
    }

    private var headers: [Field] = []
    private var parameters: [Field] = []

    package init() {}

    /// - Parameters:
    ///   - header: a field's value by its lower-case name; `nil` when absent, which differs from empty.
    ///   - parameter: the same for a query parameter. The value is empty if it can't be decoded or the parameter is repeated.
    package init(_ names: CredentialFieldNames, header: (String) -> String?, parameter: (String) -> String?) {
        headers = names.headers.compactMap { name in header(name).map { Field(name: name, value: $0) } }
        parameters = names.parameters.compactMap { name in parameter(name).map { Field(name: name, value: $0) } }
    }

    package func header(_ name: String) -> String? { headers.first { $0.name == name }?.value }
    package func parameter(_ name: String) -> String? { parameters.first { $0.name == name }?.value }
}
