@testable import Admission

/// The gateway's own methods, with parameters for what tests change.
extension GateSettings {
    /// In the order of the composition root; none is configured.
    static let unconfigured: [any AdmissionMethod] = [
        TicketMethod(office: nil), AppAttestMethod(nil), SessionTokenMethod(bearer: { _, _ in nil }),
        ClientCertificateMethod(status: nil), AnonymousMethod(isAllowed: false),
    ]

    var tickets: TicketOffice? {
        get { method(TicketMethod.self)?.office }
        set { replace(TicketMethod(office: newValue)) }
    }

    var appAttest: AppAttestSettings? {
        get { method(AppAttestMethod.self)?.settings }
        set { replace(AppAttestMethod(newValue)) }
    }

    var sessionBearer: SessionTokenMethod.Bearer {
        get {
            guard let method = method(SessionTokenMethod.self) else { return { _, _ in nil } }
            return method.bearer
        }
        set { replace(SessionTokenMethod(bearer: newValue)) }
    }

    var clientCertificates: (any CertificateStatus)? {
        get { method(ClientCertificateMethod.self)?.status }
        set { replace(ClientCertificateMethod(status: newValue)) }
    }

    /// `REQUIRE_APP_AUTH`
    var requiresAppAuth: Bool {
        get { method(AnonymousMethod.self)?.isAllowed != true }
        set { replace(AnonymousMethod(isAllowed: !newValue)) }
    }

    /// `REQUIRE_APP_AUTH`, of all kinds
    var appAuth: AppAuthDemand {
        get { method(AnonymousMethod.self)?.demand ?? .required }
        set { replace(AnonymousMethod(newValue)) }
    }

    private func method<Method: AdmissionMethod>(_ type: Method.Type) -> Method? {
        methods.lazy.compactMap { $0 as? Method }.first
    }

    private mutating func replace<Method: AdmissionMethod>(_ method: Method) {
        methods = methods.map { $0 is Method ? method as any AdmissionMethod : $0 }
    }
}

extension AdmissionRequest {
    var assertion: AssertionFields {
        get { AssertionFields(fields) }
        set { fields = CredentialFields(assertion: newValue, ticket: ticket) }
    }

    /// The parameter `ticket` of the URL.
    var ticket: String? {
        get { fields.parameter("ticket") }
        set { fields = CredentialFields(assertion: assertion, ticket: newValue) }
    }
}

extension CredentialFields {
    init(assertion: AssertionFields, ticket: String? = nil) {
        let headers = [
            "x-app-assert-keyid": assertion.keyID, "x-app-assert-data": assertion.data,
            "x-app-assert-nonce": assertion.nonce,
        ]
        self.init(
            CredentialFieldNames(headers: AssertionFields.headers, parameters: ["ticket"]),
            header: { headers[$0] ?? nil }, parameter: { _ in ticket })
    }
}

extension Principal {
    /// The identity of a debug client that presented this certificate.
    init(debugging certificate: ClientCertificate) {
        self.init(
            .certificate(sha256: certificate.sha256), proof: ClientCertificateProof(certificate))
    }
}

extension BlockList {
    init(_ text: String) throws(OperatorListError) {
        try self.init(text, kinds: [AppAttestMethod.blockListKind, ClientCertificateMethod.blockListKind])
    }
}
