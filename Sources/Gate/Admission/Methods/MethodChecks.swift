import WireText

/// The checks that each admission method adds to those of the gate, in its order. A method that isn't listed shows as
/// one check.
enum MethodChecks {
    private static let table: [ByteText: [AdmissionCheck]] = [
        ByteText(AppAttestMethod.name.label): [.route, .assertionFields, .challenge] + CheckOrder.key
            + CheckOrder.assertion,
        ByteText(SignedRequestMethod.name.label): [.route] + CheckOrder.signedRequest,
        ByteText(AccessTokenMethod.name.label): accessToken,
        ByteText(AccessTokenMethod.developmentName.label): accessToken,
        ByteText(AccessTokenMethod.accountName.label): accessToken,
        ByteText(TicketMethod.name.label): [.ticket, .route] + held,
        ByteText(SessionTokenMethod.name.label): [.sessionToken, .route] + held,
        ByteText(ClientCertificateMethod.name.label): [
            .route, .certificateVerified, .certificateFresh, .certificateLifetime,
        ],
        ByteText(AnonymousMethod.name.label): [.route],
    ]

    private static let accessToken = CheckOrder.accessToken + [.route] + CheckOrder.proofOfToken + [.identityBlocked]
    /// A ticket's owner shows only when it is spent.
    private static let held: [AdmissionCheck] = [.keyStore, .holder, .identityBlocked]

    static let developmentLabel = AccessTokenMethod.developmentName.label

    static let signedLabel = SignedRequestMethod.name.label

    static func own(of label: String) -> [AdmissionCheck] { table[ByteText(label)] ?? [.credential, .route] }
}
