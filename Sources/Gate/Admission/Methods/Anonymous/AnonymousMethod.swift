/// With `REQUIRE_APP_AUTH=false`, admits a client without credentials. It is the last method: wrong credentials select
/// another method, which refuses them.
///
/// With `report` no request selects it. It then admits clients that were refused for their app authentication.
package struct AnonymousMethod: AdmissionMethod {
    package struct NoCredential: Sendable {}

    package static let name = MethodName(
        label: "anonymous", route: "anonymous", proxyByTicket: "anonymous", holders: .several)

    /// Danger: all but `required` admits clients without credentials.
    package let demand: AppAuthDemand

    package init(_ demand: AppAuthDemand) { self.demand = demand }

    package init(isAllowed: Bool) { self.init(isAllowed ? .notRequired : .required) }

    package var isAllowed: Bool { demand == .notRequired }

    package typealias Proof = ReportedAdmission

    package var traits: MethodTraits {
        MethodTraits(
            name: Self.name, identityNames: [Self.name], fields: CredentialFieldNames(), cost: 0,
            needsSharedSecret: true, challenge: nil, exemption: { admission(despite: $0, of: $1) })
    }

    /// If the route doesn't allow it, the client is told that credentials are required.
    package func credential(in request: AdmissionRequest) -> NoCredential? {
        isAllowed && request.allows(Self.name) ? NoCredential() : nil
    }

    package func claim(of credential: NoCredential) -> Claim { Claim(.anonymous) }

    package func verify(_ credential: NoCredential, of request: AdmissionRequest) -> Inquiry<Verification> {
        .known(.anonymous)
    }

    package func recheck(_ principal: Principal, at moment: Moment) -> Inquiry<Refusal?> {
        .known(
            demand.isOpen(at: moment.unixMilliseconds)
                ? nil : Refusal(.invalidTicket, detail: "clients without credentials are no longer admitted"))
    }

    /// Without a credential, nobody can be found revoked.
    package func revocation(of credential: NoCredential) -> Inquiry<Refusal?> { .known(nil) }

    private func admission(despite refusal: Refusal, of request: AdmissionRequest) -> (any AdmissionProof)? {
        guard case .reported = demand, demand.isOpen(at: request.moment.unixMilliseconds),
            request.allows(Self.name), refusal.isOfAppAuthentication
        else { return nil }
        return ReportedAdmission(refusal)
    }
}
