package import WireText

/// Everything that the gate checks in one request, as parsed by the edge. Nothing in it is trusted; `certificate` is
/// what TLS reported.
package struct AdmissionRequest: Sendable {
    /// Identifies this request in the answer and in the logs.
    package var id: String
    package var address: IPAddress
    package var moment: Moment
    package var handshake: UpgradeHandshake
    /// The header's value; `nil` when absent, which differs from empty.
    package var origin: String?
    package var host: String?
    /// The header's value; `nil` when absent or empty.
    package var authorization: String?
    package var isTLS: Bool
    /// As in the request line, without the query.
    package var path: String
    /// The name of the target's route; `nil`: the standard target.
    package var route: String?
    /// The fields of the request that the gate's methods read.
    package var fields: CredentialFields
    /// `nil` when none was presented.
    package var certificate: ClientCertificate?
    /// The URL parameters `session` and `token` of an upgrade that resumes a session.
    package var session: SessionCredential?
    /// Whose session `session` is, if another gateway has said so, which has the session and has seen its token.
    package var bearer: Principal?
    /// The methods that the route allows, by their names in `admit=`; `nil`: all.
    package var allowedMethods: Set<String>?
    /// It asks for no route: only for a ticket, or about the client's own account.
    package var isWithoutRoute = false
    /// As received; an upgrade has none. Signatures over requests have to cover it.
    package var body: [UInt8] = []

    package init(
        id: String, address: IPAddress, moment: Moment, handshake: UpgradeHandshake, origin: String?, host: String?,
        isTLS: Bool, fields: CredentialFields, certificate: ClientCertificate?, authorization: String? = nil,
        path: String = "/"
    ) {
        self.id = id
        self.address = address
        self.moment = moment
        self.handshake = handshake
        self.origin = origin
        self.host = host
        self.isTLS = isTLS
        self.fields = fields
        self.certificate = certificate
        self.authorization = authorization
        self.path = path
    }

    /// Whether the route admits identities of a method.
    package func allows(_ method: MethodName) -> Bool {
        allowedMethods == nil ? isWithoutRoute || !method.isOnlyByName : allows(route: method.route)
    }

    /// - Parameter name: of the method in routes.
    func allows(route name: String?) -> Bool {
        guard let allowedMethods else { return true }
        return name.map(allowedMethods.contains) ?? false
    }
}

/// The opening handshake of RFC 6455 section 4.2, as the edge has judged it, once: the gate refuses its fault, and the
/// session gets the subprotocol that the 101 names.
package struct UpgradeHandshake: Sendable {
    package var method: String
    /// The first one that the client offers and the gateway speaks; `nil` if it offers none.
    package var subprotocol: String?
    package var fault: HandshakeFault?

    package init(method: String = "GET", subprotocol: String? = nil, fault: HandshakeFault? = nil) {
        self.method = method
        self.subprotocol = subprotocol
        self.fault = fault
    }
}

/// Why a request opens no WebSocket.
package enum HandshakeFault: Hashable, Sendable {
    case method
    /// HTTP/1.0.
    case httpVersion
    /// `Upgrade` doesn't list `websocket`, or `Connection` doesn't list `upgrade`.
    case otherProtocol
    /// - Parameter received: nil when absent.
    case version(received: String?)
    case key
    /// A field is repeated or malformed.
    case malformed
    /// Only unknown ones are offered.
    case subprotocols(offered: [String], known: [String])
}

/// A certificate that the client presented, and TLS's findings about it.
package struct ClientCertificate: Sendable {
    /// It chained to the configured client CA, within its validity and on no revocation list.
    package var isVerified: Bool
    /// The TLS session was resumed: nothing was checked on this connection.
    package var isResumedSession: Bool
    /// SHA-256 of the DER encoding.
    package var sha256: [UInt8]
    /// For the logs only; never a reason to admit.
    package var subject: String
    /// Unix milliseconds.
    package var notAfter: Int64?
    /// Used to find the certificate's sessions when it is revoked.
    package var number: CertificateNumber?
    /// The issuer's name and TLS's reason, for the audit log alone.
    package var issuerName = ""
    package var problem: String?
    /// Used to verify it again. `nil` if it isn't verified or its chain exceeds the limits; then no ticket is issued
    /// for it.
    package var chain: ClientCertificateChain?

    package init(
        isVerified: Bool, isResumedSession: Bool, sha256: [UInt8], subject: String, notAfter: Int64?,
        number: CertificateNumber? = nil, chain: ClientCertificateChain? = nil
    ) {
        self.isVerified = isVerified
        self.isResumedSession = isResumedSession
        self.sha256 = sha256
        self.subject = subject
        self.notAfter = notAfter
        self.number = number
        self.chain = chain
    }
}

extension ClientCertificate {
    /// Its fingerprint first: names are the client's, and may be long.
    var nameForLog: String {
        let reason = problem.map { "\($0): " } ?? ""
        return "\(reason)SHA-256 \(Hexadecimal.encode(sha256)), \(subject), issued by \(issuerName)"
    }
}

/// The names of the header fields and query parameters that may carry a credential. Header names are lower case.
package struct CredentialFieldNames: Sendable, Equatable {
    package var headers: [String]
    package var parameters: [String]
    /// Those of `headers` whose method refuses a repeated one itself; it gets all values, joined with commas (RFC 9110
    /// section 5.3).
    package var lists: [String]

    package init(headers: [String] = [], parameters: [String] = [], lists: [String] = []) {
        self.headers = headers
        self.parameters = parameters
        self.lists = lists
    }

    /// A request that repeats one of these is refused: servers differ in which value they use.
    package var single: [String] { headers.filter { !lists.contains($0) } }
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
    ///   - parameter: the same for a query parameter. The value is empty if it can't be decoded or the parameter is
    ///     repeated.
    package init(_ names: CredentialFieldNames, header: (String) -> String?, parameter: (String) -> String?) {
        headers = names.headers.compactMap { name in header(name).map { Field(name: name, value: $0) } }
        parameters = names.parameters.compactMap { name in parameter(name).map { Field(name: name, value: $0) } }
    }

    package func header(_ name: String) -> String? { headers.first { $0.name.hasSameBytes(as: name) }?.value }
    package func parameter(_ name: String) -> String? { parameters.first { $0.name.hasSameBytes(as: name) }?.value }
}
