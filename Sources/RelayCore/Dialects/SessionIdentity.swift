/// By what a session is known to its client.
package struct SessionIdentity: Sendable, CustomStringConvertible {
    /// A UUID.
    package let id: String
    /// 64 hexadecimal digits: whoever has them may resume the session.
    package let token: String

    package init(id: String, token: String) {
        self.id = id
        self.token = token
    }

    /// Without the token.
    package var description: String { id }
}
