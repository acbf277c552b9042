package import Admission
import KeyStore

/// Signs players out: `POST /api/auth/logout`, without the HTTP. Not for reactors.
///
/// The caller has counted the request against the limits of its address, and has authenticated the client by its access
/// token, which names its family.
package struct LogOut: Sendable {
    private let services: AccountServices

    package init(_ services: AccountServices) { self.services = services }

    /// Ends the family of the access token, or with `everywhere` all families of its account. No use of their tokens is
    /// repeated after it.
    package func logOut(
        _ request: TokenRequest, of principal: Principal, unless record: AccountAct.Record
    ) async -> Result<Void, RefusedRequest> {
        do throws(RefusedRequest) {
            guard case .account(let account, _, let family) = principal.accountEvidence else {
                throw RefusedRequest(
                    Refusal(
                        .appAuthRequired, detail: "not a player who has signed in",
                        reason: "an access token of a sign-in is needed"))
            }
            let body = try AccountBody(request.body, maximumBytes: services.maximumBodyBytes)
            let isEverywhere = try body.flag("everywhere")
            guard let ending = isEverywhere ? .account(account) : family.map(RefreshEnding.family) else {
                throw .malformed("everywhere is not true, and the access token has no refresh token")
            }
            let act = AccountAct(.signedOut, of: account, isEverywhere ? "everywhere" : "")
            if let refusal = record(act) { throw RefusedRequest(refusal) }
            _ = try await stored { () throws(KeyRegistryError) in
                try await services.store.end(ending, at: request.moment.unixMilliseconds)
            }
            return .success(())
        } catch {
            return .failure(error)
        }
    }
}
