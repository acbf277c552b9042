/// The socket of an `InternalConnection`: plain (`TCPConnection`) or with TLS (`SecuredConnection`). Both call a
/// `TCPHandler`. Reactor thread only.
protocol InternalTransport: AnyObject {
    /// Bytes that the kernel hasn't taken yet.
    var queuedBytes: Int { get }
    /// Whether the peer has presented a client certificate that is good now.
    var isCertified: Bool { get }

    func send(_ bytes: UnsafeRawBufferPointer)
    func setReading(paused: Bool)
    /// Writes the queue, then ends the output. Reading continues.
    func finish()
    /// Closes now; queued bytes are lost.
    func drop()
}

extension TCPConnection: InternalTransport {
    /// Without TLS there are no certificates.
    var isCertified: Bool { false }
}
