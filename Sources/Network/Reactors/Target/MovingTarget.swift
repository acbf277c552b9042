import Glibc

/// A connection to a target on its way between two reactors, from `TargetConnection.leave` to `adopt`. If it isn't
/// taken up, it is closed.
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

    /// One that another process has given away. Plain: TLS can't leave its process.
    ///
    /// - Parameters:
    ///   - descriptor: it takes ownership.
    ///   - unsent: what the other process hadn't written yet.
    package convenience init(host: String, inherited descriptor: Int32, unsent: [UInt8]) {
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        self.init(
            host: host, socket: MovingSocket(descriptor, unsent: unsent), session: nil, plaintext: [],
            firstRecord: FirstTLSRecord(), tlsVersion: nil, fallback: nil)
    }

    /// For another process, which gets a copy, and what hasn't been written yet. Nil where TLS is spoken with the
    /// target.
    package var forAnotherProcess: (descriptor: Int32, unsent: [UInt8])? {
        guard session == nil, plaintext.isEmpty else { return nil }
        return (socket.held, socket.unsent)
    }

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
