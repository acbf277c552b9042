/// The way of debug clients: a certificate that verified against the configured client CA, on this very connection.
///
/// A certificate that didn't verify still connects and has its names read, and a resumed session repeats an old verdict. Neither
/// counts, and neither falls through to a weaker rule.
struct ClientCertificatePolicy: AdmissionPolicy {
    func evaluate(_ request: AdmissionRequest) -> PolicyOutcome {
        guard let certificate = request.certificate else { return .noOpinion }
        guard certificate.isVerified else {
            return .refused(.invalidClientCertificate, "client certificate did not verify")
        }
        guard !certificate.isResumedSession else {
            return .refused(.invalidClientCertificate, "TLS session was resumed, the certificate not checked")
        }
        // TLS checked the dates when the connection began, which may be a while ago.
        if let notAfter = certificate.notAfter, notAfter < request.moment.unixMilliseconds {
            return .refused(.invalidClientCertificate, "client certificate has expired since")
        }
        return .admitted(Principal(debugging: certificate))
    }
}
