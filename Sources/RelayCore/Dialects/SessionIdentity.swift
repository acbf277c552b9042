/// A session's identity as its client knows it.
package struct SessionIdentity: Sendable, CustomStringConvertible {
    /// A UUID.
    package let id: String
    /// 64 hexadecimal digits. The session belongs to the client that presents them: it may resume the session.
    package let token: String

    package init(id: String, token: String) {
        self.id = id
        self.token = token
    }

    /// Without the token.
    package var description: String { id }
}
