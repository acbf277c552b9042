/// The checks that each admission method adds to those of the gate, in its order. A method that isn't listed shows as one check.
enum MethodChecks {
    private static let table: [String: [AdmissionCheck]] = [
        AppAttestMethod.name.label: [.route, .assertionFields, .challenge] + CheckOrder.key + CheckOrder.assertion,
        AccessTokenMethod.name.label: accessToken,
        AccessTokenMethod.developmentName.label: accessToken,
        TicketMethod.name.label: [.ticket, .route] + held,
        SessionTokenMethod.name.label: [.sessionToken, .route] + held,
        ClientCertificateMethod.name.label: [
            .route, .certificateVerified, .certificateFresh, .certificateLifetime,
        ],
        AnonymousMethod.name.label: [.route],
    ]

    private static let accessToken = CheckOrder.accessToken + [.route] + CheckOrder.proofOfToken + [.identityBlocked]
    /// A ticket's owner shows only when it is spent.
    private static let held: [AdmissionCheck] = [.keyStore, .holder, .identityBlocked]

    static let developmentLabel = AccessTokenMethod.developmentName.label

    static func own(of label: String) -> [AdmissionCheck] { table[label] ?? [.credential, .route] }
}
