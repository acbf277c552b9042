/// A connection to a target on its way between two reactors, from `TargetConnection.leave` to `adopt`. If it isn't taken up, it is closed.
package final class MovingTarget: Sendable {
    let host: String
    let socket: MovingSocket
    /// Nil for a plain connection.
    let session: MovingTLS?
    /// Sent, but not encrypted yet.
    let plaintext: [UInt8]
    let firstRecord: FirstTLSRecord
    let tlsVersion: String?
    let fallback: TargetTLSFailure?

    init(
        host: String, socket: MovingSocket, session: MovingTLS?, plaintext: [UInt8],
        firstRecord: FirstTLSRecord, tlsVersion: String?, fallback: TargetTLSFailure?
    ) {
        self.host = host
        self.socket = socket
        self.session = session
        self.plaintext = plaintext
        self.firstRecord = firstRecord
        self.tlsVersion = tlsVersion
        self.fallback = fallback
    }
}
