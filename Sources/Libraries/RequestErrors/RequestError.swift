/// Why a request is refused, in a form that its client can be told. The errors of `AppAttest` and `DPoP` that a request
/// can cause conform to it.
///
/// A server answers all of them in the same way: with ``status``, with ``code`` and ``clientDescription`` in the body,
/// and with ``wwwAuthenticate(realm:)`` if the status is 401.
public protocol RequestError: Error, Sendable {
    associatedtype Code: RawRepresentable<String>, Hashable, Sendable

    /// For `error` (RFC 6749 section 5.2). Clients may branch on it.
    var code: Code { get }
    /// For `error_description`: the failed check in plain words, for the developer of the client.
    ///
    /// It contains nothing secret and nothing that the client sent, only characters that RFC 6749 section 5.2 allows,
    /// and no reason for a wrong signature.
    var clientDescription: String { get }
    /// The HTTP status at a protected resource.
    var status: Int { get }
    /// The scheme of ``wwwAuthenticate(realm:)``, with its parameters.
    var challenge: AuthenticationChallenge { get }
    /// Whether the client has tried to authenticate. If it hasn't, the challenge has no error (RFC 6750 section 3.1).
    var isAboutCredentials: Bool { get }
}

extension RequestError {
    public var isAboutCredentials: Bool { true }

    /// The value of `WWW-Authenticate` in an answer with status 401 (RFC 9110 section 11.6.1): the challenge, ``code``
    /// and ``clientDescription``.
    public func wwwAuthenticate(realm: String? = nil) -> String {
        var challenge = challenge
        if let realm { challenge.parameters.append(("realm", realm)) }
        if isAboutCredentials {
            challenge.parameters += [("error", code.rawValue), ("error_description", clientDescription)]
        }
        return challenge.text
    }
}
