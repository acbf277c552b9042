package import WireText

/// Options for opening a connection to a target.
package struct DialOptions: Sendable {
    package typealias Prologue = @Sendable (_ local: SocketAddress, _ remote: SocketAddress) -> [UInt8]

    /// The time limit for resolving and connecting together. The TLS handshake has its own limit: see `TargetTLSSettings`.
    package var timeoutMilliseconds: Int
    /// Called for every address before it is dialled, also for a numeric host. The address has 4 or 16 bytes in network order; an
    /// IPv4-mapped address is passed as its 4 bytes. If it accepts none, the dial ends with `TCPError.notAllowed`.
    package var accepts: @Sendable (_ address: [UInt8]) -> Bool
    /// The party that chose the host.
    package var chooser = HostChooser.operators
    /// Closes a connection whose two ends have the same address, before its first byte, with `TCPError.notAllowed`. Such a connection leads
    /// back to this machine, whose own public addresses appear in no list of networks.
    package var refusesThisMachine = false
    /// Makes the first bytes to send, once both ends' addresses are known: a PROXY header, before any TLS. Called once per established
    /// connection; an empty result sends nothing.
    package var prologue: Prologue?

    /// The local IPv4 address to connect from; nil lets the system choose.
    package var source: String?

    package init(
        timeoutMilliseconds: Int, accepts: @escaping @Sendable (_ address: [UInt8]) -> Bool = { _ in true },
        prologue: Prologue? = nil
    ) {
        self.timeoutMilliseconds = timeoutMilliseconds
        self.accepts = accepts
        self.prologue = prologue
    }
}
