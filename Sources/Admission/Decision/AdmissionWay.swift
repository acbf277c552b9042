/// The ways of admission that a route may be open to. A client with a ticket counts by the credentials that the ticket was given for.
package enum AdmissionWay: String, Hashable, Sendable, CaseIterable {
    case app
    case certificate = "cert"
    /// By a ticket that the operator gave.
    case ticket
    case anonymous
}

extension Principal {
    package var admissionWay: AdmissionWay { way.admissionWay }
}

extension Principal.Way {
    package var admissionWay: AdmissionWay {
        switch self {
        case .appAttest: .app
        case .debugCertificate: .certificate
        case .operatorTicket: .ticket
        case .anonymous: .anonymous
        }
    }
}
