/// The names of structured fields in log and audit lines, so that each thing has the same name everywhere.
///
/// No field ever contains a secret: no challenge, assertion, attestation, private key or resume token. A key identifier
/// and a certificate's fingerprint are names, not secrets.
package enum LogKeys {
    /// Identifies one request; also in the answer's body, so that the line for a user's report can be found.
    package static let requestID = "requestId"
    /// Identifies one admitted session.
    package static let session = "session"
    /// The client's address without its port.
    package static let address = "address"
    /// The label of the admission method that the client used or tried.
    package static let admission = "way"
    /// `admitted`, `refused`, or `failed` if no decision was made.
    package static let outcome = "outcome"
    /// The stable public code of a refusal or failure.
    package static let reason = "reason"
    /// The detail that the client isn't told.
    package static let detail = "detail"
    /// The check that a refused request failed: see `portcullis explain`.
    package static let check = "check"
    /// What that check expected, and what it got.
    package static let expected = "expected"
    package static let received = "received"
    /// The subject of the client's identity: a key identifier, a certificate's fingerprint, the name of an operator's
    /// ticket.
    package static let client = "who"
    /// `host:port` of the service behind the gateway; for a refused target, what the client named.
    package static let target = "target"
    /// The TLS version toward the target; `none` without TLS.
    package static let targetTLS = "targetTLS"
    /// Why a connection that should use TLS fell back to plain text.
    package static let fallback = "fallback"
    package static let reactor = "reactor"
    package static let error = "error"
    /// WebSocket close code (RFC 6455, section 7.4).
    package static let closeCode = "closeCode"
    package static let bytesFromClient = "bytesFromClient"
    package static let bytesToClient = "bytesToClient"
    /// Bytes of WebSocket frames, with headers, after compression, without TLS.
    package static let framesFromClient = "framesFromClient"
    package static let framesToClient = "framesToClient"
    /// The compression negotiated with the client.
    package static let compression = "compression"
    package static let milliseconds = "milliseconds"
    /// A setting's name.
    package static let setting = "setting"
    /// Where the settings are: their file, or `environment`.
    package static let settings = "settings"
    /// The previous id of a resumed session.
    package static let resumed = "resumed"
    /// Another gateway of the fleet.
    package static let gateway = "gateway"
    /// Of an HTTP answer.
    package static let status = "status"
    package static let version = "version"
    package static let port = "port"
    package static let count = "count"
    /// What a summary counts: an event of the audit log or `request`.
    package static let of = "of"
    /// The times and ids of the first and last event that a summary counts.
    package static let firstTime = "firstTime"
    package static let firstRequestID = "firstRequestId"
    package static let lastTime = "lastTime"
    package static let lastRequestID = "lastRequestId"
    /// The number of equal messages that were suppressed since the last one.
    package static let suppressed = "suppressed"
}
