/// With `REQUIRE_APP_AUTH=false`, admits a client without credentials. It is the last method: wrong credentials select another method,
/// which refuses them.
package struct AnonymousMethod: AdmissionMethod {
    package struct NoCredential: Sendable {}

    package static let name = MethodName(
        label: "anonymous", route: "anonymous", proxyByTicket: "anonymous")

    /// Danger: `true` admits clients without credentials.
    package let isAllowed: Bool

    package init(isAllowed: Bool) { self.isAllowed = isAllowed }

    package var name: MethodName { Self.name }
    package var cost: Int { 0 }

    /// If the route doesn't allow it, the client is told that credentials are required.
    package func credential(in request: AdmissionRequest) -> NoCredential? {
        isAllowed && request.allows(Self.name) ? NoCredential() : nil
    }

    package func claim(of credential: NoCredential) -> Claim { Claim(.anonymous) }

    package func verify(_ credential: NoCredential, of request: AdmissionRequest) -> Verification { .anonymous }

    package func recheck(_ principal: Principal, at moment: Moment) -> Refusal? {
        isAllowed
            ? nil : Refusal(.invalidTicket, detail: "clients without credentials are no longer admitted")
    }
}
