import CLibuv
import Testing

@testable import Reactors

/// The words of the log for a target that couldn't be reached.
struct DialErrorTextTests {
    @Test(arguments: [
        (TCPError.notConnected("connection refused"), "connection refused"),
        (.notResolved(NameLookup.noAddress), "the name has no address"),
        (.notAllowed, "none of its addresses is allowed"),
        (.timedOut(milliseconds: 10_000), "timed out after 10 s"),
        (.timedOut(milliseconds: 250), "timed out after 0.25 s"),
        (.broken("connection reset by peer"), "the connection broke: connection reset by peer"),
        (.notSecured(.notTLS), "no TLS: the target doesn't speak TLS"),
        (
            .notSecured(.untrusted("certificate has expired")),
            "no TLS: the target's certificate isn't trusted: certificate has expired"
        ),
        (
            .notSecured(.notPinned(TestCertificates.server.pin)),
            "no TLS: the target's key \(TestCertificates.server.pin.base64) isn't pinned"
        ),
        (.notSecured(.closed(hasSpokenTLS: false)), "no TLS: the target closed the connection without a TLS record"),
        (.notSecured(.timedOut(hasSpokenTLS: true)), "no TLS: the TLS handshake took too long"),
        (.notSecured(.failed("wrong version number")), "no TLS: the TLS handshake failed: wrong version number"),
    ])
    func `a failure is described in plain words`(error: TCPError, text: String) {
        #expect("\(error)" == text)
    }

    @Test(arguments: [
        (UV_EAI_NONAME, "the name has no address"), (UV_EAI_NODATA, "the name has no address"),
        (UV_EAI_AGAIN, "the name server gave no answer"),
        (UV_ENAMETOOLONG, "the name can't be looked up: name too long"),
    ])
    func `a name server's answer is described in plain words`(code: uv_errno_t, text: String) {
        #expect(NameLookup.reason(code.rawValue) == text)
    }
}
