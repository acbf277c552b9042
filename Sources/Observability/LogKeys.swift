/// The names of structured fields in log and audit lines, so that one thing has one name everywhere.
///
/// None of them ever carries a secret: no challenge, assertion, attestation, private key or resume token. A key
/// identifier and a certificate's fingerprint are names, not secrets.
package enum LogKeys {
    /// Of one request; also in the answer's body, so that a user's report finds its line.
    package static let requestID = "requestId"
    /// Of one admitted session.
    package static let session = "session"
    /// The client's address without its port.
    package static let address = "address"
    /// The method of admission by which the client came to the gate, or tried to; its label.
    package static let admission = "way"
    /// `admitted`, `refused`, or `failed` where nobody was judged.
    package static let outcome = "outcome"
    /// The stable public code of a refusal or failure.
    package static let reason = "reason"
    /// What the client isn't told.
    package static let detail = "detail"
    /// The subject of the client's identity: a key identifier, a certificate's fingerprint, the name of an operator's ticket.
    package static let client = "who"
    /// `host:port` of the service behind the gateway; of one that is refused what the client named.
    package static let target = "target"
    /// TLS's version toward the target; `none` without TLS.
    package static let targetTLS = "targetTLS"
    /// Why a target that was to have TLS is spoken to without.
    package static let fallback = "fallback"
    package static let reactor = "reactor"
    package static let error = "error"
    /// WebSocket close code (RFC 6455, section 7.4).
    package static let closeCode = "closeCode"
    package static let bytesFromClient = "bytesFromClient"
    package static let bytesToClient = "bytesToClient"
    /// Bytes of WebSocket frames, with their headers and as they were compressed. What TLS adds isn't in it.
    package static let framesFromClient = "framesFromClient"
    package static let framesToClient = "framesToClient"
    /// What was agreed on with the client.
    package static let compression = "compression"
    package static let milliseconds = "milliseconds"
    /// A setting's name.
    package static let setting = "setting"
    /// What a resumed session was called before.
    package static let resumed = "resumed"
    package static let version = "version"
    package static let port = "port"
    package static let count = "count"
    /// What a summary counts: an event of the audit log, or `request`.
    package static let of = "of"
    /// Of the first and the last of what a summary counts.
    package static let firstTime = "firstTime"
    package static let firstRequestID = "firstRequestId"
    package static let lastTime = "lastTime"
    package static let lastRequestID = "lastRequestId"
    /// How many equal messages were held back since the last one.
    package static let suppressed = "suppressed"
}
