/// How a connection toward a target is opened.
package struct DialOptions: Sendable {
    package typealias Prologue = @Sendable (_ local: PeerAddress, _ remote: PeerAddress) -> [UInt8]

    /// For resolving and connecting together. What TLS may take comes on top: see `TargetTLSSettings`.
    package var timeoutMilliseconds: Int
    /// Asked about every address before it is dialled, also where the host is numeric: 4 bytes or 16 in network order, an IPv4-mapped
    /// one as its 4. Where it accepts none, the dial ends as `TCPError.notAllowed`.
    package var accepts: @Sendable (_ address: [UInt8]) -> Bool
    /// Whose choice the host is.
    package var chooser = HostChooser.operators
    /// Closes a connection whose two ends have the same address before its first byte, as `TCPError.notAllowed`: it has come back to this
    /// machine, whose own public addresses no list of networks knows.
    package var refusesThisMachine = false
    /// Makes the very first bytes on the wire, once both ends' addresses are known: a PROXY header, before any TLS. Called once for each
    /// connection that comes about; empty means nothing.
    package var prologue: Prologue?

    /// The local IPv4 address to connect from; nil leaves it to the system.
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
