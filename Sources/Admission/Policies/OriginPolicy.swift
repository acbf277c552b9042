/// A browser sends its client certificate for any page that opens a connection, so only pages of allowed origins are accepted. Other
/// clients send no `Origin`, and pass unless `ALLOW_MISSING_ORIGIN` is false.
///
/// The gateway's own origin is the host that the request was sent to. Over TLS the browser has compared that name with the certificate.
/// Without TLS, a proxy may have terminated TLS, so https is accepted as well.
struct OriginPolicy: AdmissionPolicy {
    let allowed: Set<WebOrigin>
    let allowsMissing: Bool

    func evaluate(_ attempt: AdmissionAttempt) -> PolicyOutcome {
        let request = attempt.request
        guard let text = request.origin else {
            return allowsMissing ? .passed : .refused(.originRefused, "no origin, and ALLOW_MISSING_ORIGIN is false")
        }
        guard let origin = WebOrigin(text) else { return .refused(.originRefused, "origin is null or malformed") }
        return allowed.contains(origin) || ownOrigins(of: request).contains(origin)
            ? .passed : .refused(.originRefused, "origin is not allowed")
    }

    private func ownOrigins(of request: AdmissionRequest) -> [WebOrigin] {
        guard let host = request.host else { return [] }
        return (request.isTLS ? ["https"] : ["https", "http"]).compactMap { WebOrigin($0 + "://" + host) }
    }
}
