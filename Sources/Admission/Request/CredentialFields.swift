/// The names of the header fields and query parameters by which a request may show a credential. Those of headers are lower case.
package struct CredentialFieldNames: Sendable, Equatable {
    package var headers: [String]
    package var parameters: [String]

    package init(headers: [String] = [], parameters: [String] = []) {
        self.headers = headers
        self.parameters = parameters
    }
}

/// What a request has of these fields, and nothing else of the request.
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
    ///   - parameter: the same of a query parameter. One that can't be read, or that the request repeats, is the empty text.
    package init(_ names: CredentialFieldNames, header: (String) -> String?, parameter: (String) -> String?) {
        headers = names.headers.compactMap { name in header(name).map { Field(name: name, value: $0) } }
        parameters = names.parameters.compactMap { name in parameter(name).map { Field(name: name, value: $0) } }
    }

    package func header(_ name: String) -> String? { headers.first { $0.name == name }?.value }
    package func parameter(_ name: String) -> String? { parameters.first { $0.name == name }?.value }
}
