public import RequestErrors

extension AccessTokenRefusal: RequestError {
    public var challenge: AuthenticationChallenge { .dpop }
    public var status: Int { code.status }

    public var clientDescription: String {
        switch self {
        case .malformed(.type): "the access token's typ is not \(AccessTokenVerifier.type)"
        case .malformed(let error): "the access token \(error.clientDescription)"
        case .unknownKey, .signatureMismatch: "the access token cannot be verified"
        case .claim(let claim): "the access token's \(claim.rawValue) is missing, or is not what it has to be"
        case .notBound: "the access token is bound to no key"
        case .wrongIssuer: "the access token's iss is another issuer"
        case .wrongAudience: "the access token's aud does not name this server"
        case .expired: "the access token has expired"
        case .notYetValid: "the access token is not valid yet"
        }
    }
}

extension AuthorizationRefusal: RequestError {
    public var challenge: AuthenticationChallenge { .dpop }
    public var status: Int { code.status }
    public var isAboutCredentials: Bool { self != .otherScheme }

    public var clientDescription: String {
        switch self {
        case .severalFields: "there is more than one Authorization field"
        case .otherScheme: "the scheme in Authorization is neither DPoP nor Bearer"
        case .malformedToken: "what follows the scheme in Authorization is not one token"
        }
    }
}
