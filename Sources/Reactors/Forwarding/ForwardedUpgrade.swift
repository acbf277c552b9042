package import ForwardingWire
import HTTPWire

/// An upgrade on its way to another gateway, and the WebSocket behind it. On the reactor's thread.
package final class ForwardedUpgrade {
    private let forward: OutboundForward

    fileprivate init(_ forward: OutboundForward) { self.forward = forward }

    /// Ends it with a Close frame; before the answer the upgrade becomes undecided again (`ForwardEvent.failed`).
    package func close(code: UInt16, reason: String) { forward.close(code: code, reason: reason) }

    // MARK: For tests

    var isPausingClient: Bool { forward.pausesClient }
    var isPausingTransport: Bool { forward.pausesTransport }
    var waitingForClient: Int { forward.waitingForClient }
    var waitingForGateway: Int { forward.waitingForGateway }
}

extension UpgradeExchange {
    /// Has another gateway answer. Until it does the upgrade is undecided and may still be refused; after `ForwardEvent.failed` it must be.
    ///
    /// - Parameters:
    ///   - preface: within its limits.
    ///   - report: called on this reactor. Not before this returns.
    /// - Returns: nil if the client is gone, or if the preface is over a limit.
    package func forward(
        to destination: ForwardDestination, _ preface: ForwardPreface, report: @escaping (ForwardEvent) -> Void
    ) -> ForwardedUpgrade? {
        reactor.preconditionOnThread()
        guard connection != nil, let preface = preface.encoded() else { return nil }
        let forward = OutboundForward(self, to: destination, preface: preface, report: report)
        self.forward = forward
        return ForwardedUpgrade(forward)
    }
}

extension ForwardPreface.Certificate {
    package init(_ certificate: PeerCertificate?) {
        switch certificate {
        case nil: self = .none
        case let certificate? where certificate.isVerified: self = .verified(chain: certificate.chain)
        case _?: self = .unverified
        }
    }
}
