import Accounts
import Admission
import KeyStore
import Observability

/// Sign-ins, and what players do with their accounts.
extension DecisionRecord {
    /// Call this before a refresh token is used up.
    ///
    /// - Returns: a refusal if the last line couldn't be written, and there is no room yet.
    func refuseUnrecorded(_ context: RequestContext) -> Refusal? {
        guard !audit.condition.isWritten else { return nil }
        audit.retry(at: Timestamp(unixMilliseconds: context.moment.unixMilliseconds))
        return line(audit.condition.isWritten).refusal
    }

    /// Call this before the token is sent.
    ///
    /// - Returns: the outcome, or a refusal if the sign-in can't be recorded and therefore isn't allowed.
    func orUnwritten(_ outcome: SignInOutcome, _ context: RequestContext) -> SignInOutcome {
        guard case .signedIn(let token, let remark) = outcome else { return outcome }
        let act = token.refresh?.isFirst == false ? "refresh" : "sign-in"
        let detail = "\(act), token \(token.id)" + (remark.map { ", \($0)" } ?? "")
        let line = admit(.account, Self.passkey, who: token.account.text, detail: detail, context)
        return line.refusal.map { .refused($0) } ?? outcome
    }

    /// Call this when it is decided, whatever becomes of the connection. On any thread.
    ///
    /// - Parameter isRefresh: by a refresh token.
    func signedIn(_ outcome: SignInOutcome, isRefresh: Bool, _ context: RequestContext) {
        switch outcome {
        case .signedIn:
            isRefresh
                ? metrics.refreshed(.admitted, reason: NoReason.none)
                : metrics.signedIn(.admitted, reason: NoReason.none)
        case .refused(let refusal):
            refused(refusal, context)
            isRefresh
                ? metrics.refreshed(.refused, reason: refusal.code) : metrics.signedIn(.refused, reason: refusal.code)
        }
    }

    private func refused(_ refusal: Refusal, _ context: RequestContext) {
        switch refusal.failed.check {
        // A demand for a nonce is no decision about the client.
        case _ where refusal.code == .useNonce: return
        // In full: there is one for each family, which has ended.
        case .refreshUnused:
            write(.refreshReuse, .refused, Self.passkey, who: refusal.signer, refusal: refusal, context)
        case .refreshKey: refused(.refreshWrongKey, .account, refusal, Self.passkey, context)
        default: accountRefused(refusal, context)
        }
    }

    /// Call this before the act is done. Each is written in full: the limits of requests bound them.
    ///
    /// - Returns: a refusal if it can't be recorded and therefore isn't allowed.
    func refuseUnwritten(_ act: AccountAct, _ context: RequestContext) -> Refusal? {
        let detail = act.detail.isEmpty ? act.kind.rawValue : "\(act.kind.rawValue), \(act.detail)"
        return line(write(.account, .admitted, Self.passkey, who: act.account.text, detail: detail, context)).refusal
    }

    /// A counter that hasn't risen has a line of its own, whatever else is only counted: it needs a right signature.
    func accountRefused(_ refusal: Refusal, _ context: RequestContext) {
        if refusal.isCounterRegression {
            metrics.passkeyCounterRefused()
            write(.account, .refused, Self.passkey, who: refusal.signer, refusal: refusal, context)
            return
        }
        refused(.account, .account, refusal, refusal.method == .none ? Self.passkey : refusal.method, context)
    }

    private static let passkey = AccountServices.method
}
