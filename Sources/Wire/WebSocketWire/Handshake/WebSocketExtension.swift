/// One element of `Sec-WebSocket-Extensions` (RFC 6455 §9.1).
package struct WebSocketExtension: Hashable, Sendable {
    package struct Parameter: Hashable, Sendable {
        package let name: String
        /// Unquoted; nil if the parameter has no value.
        package let value: String?

        package init(_ name: String, _ value: String? = nil) {
            self.name = name
            self.value = value
        }
    }

    package let name: String
    package let parameters: [Parameter]

    package init(_ name: String, _ parameters: [Parameter] = []) {
        self.name = name
        self.parameters = parameters
    }

    /// The maximum number of elements in all fields together, and of parameters in one element. Browsers send one
    /// element with one or two parameters.
    package static let maximumMembers = 16
    package static let maximumParameters = 16

    /// Parses the values of all `Sec-WebSocket-Extensions` fields, in order. Nil if one is malformed, has an empty
    /// element or exceeds a limit: the handshake is then refused.
    package static func list(_ fields: [String]) -> [WebSocketExtension]? {
        var members: [WebSocketExtension] = []
        for field in fields {
            var text = HeaderText(field)
            repeat {
                guard members.count < maximumMembers, let member = member(&text) else { return nil }
                members.append(member)
            } while text.take(",")
            guard text.isAtEnd else { return nil }
        }
        return members
    }

    private static func member(_ text: inout HeaderText) -> WebSocketExtension? {
        text.skipBlanks()
        guard let name = text.token() else { return nil }
        text.skipBlanks()
        var parameters: [Parameter] = []
        while text.take(";") {
            guard parameters.count < maximumParameters, let parameter = parameter(&text) else { return nil }
            parameters.append(parameter)
        }
        return WebSocketExtension(name, parameters)
    }

    private static func parameter(_ text: inout HeaderText) -> Parameter? {
        text.skipBlanks()
        guard let name = text.token() else { return nil }
        text.skipBlanks()
        guard text.take("=") else { return Parameter(name) }
        text.skipBlanks()
        guard let value = text.tokenOrQuotedToken() else { return nil }
        text.skipBlanks()
        return Parameter(name, value)
    }

    /// The text of the field's element. Quoted values are tokens once unquoted, so no quotes are needed.
    package var text: String {
        parameters.reduce(name) { text, parameter in
            text + "; " + parameter.name + (parameter.value.map { "=" + $0 } ?? "")
        }
    }
}
