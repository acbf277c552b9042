package import Admission
import FoundationEssentials
import HTTPWire
package import Reactors

/// Who asks, when, and under which id: the same id stands in the answer, the log and the audit log.
struct RequestContext: Sendable {
    let id: String
    let address: ClientAddress
    let moment: Moment
    /// A trusted proxy has named the address: its port isn't known.
    let isForwarded: Bool
}

extension RequestContext {
    /// - Parameters:
    ///   - head: nil where no header may name the client.
    ///   - proxies: those whose word about the client's address counts.
    init(peer: PeerAddress, head: RequestHead?, trusting proxies: TrustedProxies, reactor: Reactor) {
        id = Self.makeID()
        let peer = ClientAddress(peer)
        address = proxies.client(of: peer) { head?.text($0) }
        isForwarded = address != peer
        moment = reactor.moment
    }

    /// 64 random bits in hexadecimal: enough to find a line, too many to guess a neighbour's.
    static func makeID() -> String {
        let digits = String(UInt64.random(in: .min ... .max), radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}

extension Reactor {
    /// Now, as the gate wants it.
    var moment: Moment {
        Moment(
            monotonic: MonotonicTime(nanoseconds: now),
            unixMilliseconds: Int64(Date.now.timeIntervalSince1970 * 1_000))
    }
}

extension ClientAddress {
    /// The kernel hands out 4 or 16 bytes; there is no third kind.
    package init(_ peer: PeerAddress) {
        let bytes = peer.bytes
        if bytes.count == 4 {
            self.init(ipv4: (bytes[0], bytes[1], bytes[2], bytes[3]))
        } else if let address = ClientAddress(ipv6: bytes) {
            self = address
        } else {
            preconditionFailure("an address of \(bytes.count) bytes")
        }
    }
}
