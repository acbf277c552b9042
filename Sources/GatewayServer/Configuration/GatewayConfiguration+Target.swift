package import Admission
package import Reactors
package import RelayCore
package import Telnet

extension GatewayConfiguration {
    /// The services that clients reach, and how they are reached.
    package struct Target: Sendable, Equatable {
        /// Where a client goes that names no target.
        package let host: NetworkHost
        package let port: Int
        package let dialTimeoutMilliseconds: Int
        /// What clients may be connected to.
        package let policy: TargetPolicy
        package let routes: [Route]
        package let tls: TLS
        package let proxyProtocol: TargetProxyHeader
        /// 0: never.
        package let keepAliveSeconds: Int

        package struct TLS: Sendable, Equatable {
            package let mode: TargetTLSMode
            /// PEM; nil: the system's authorities.
            package let authorityPath: String?
            package let pins: [PublicKeyPin]
        }
    }

    package struct TelnetOptions: Sendable, Equatable {
        package let encoding: TextEncoding
        package let mxp: MXPMode
        package let maximumSubnegotiationBytes: Int
        /// Inflated bytes to one received.
        package let maximumCompressionRatio: Int
        package let inflatedBytesPerSecond: Int
    }

    package struct Dialects: Sendable, Equatable {
        /// Nil: judged by the first message.
        package let standard: DialectChoice
        package let waitMilliseconds: Int
        /// For clients that name their target.
        package let connectWaitSeconds: Int
    }

    package struct Tickets: Sendable, Equatable {
        package let lifetimeSeconds: Int
        package let maximum: Int
        /// Nil: no control socket.
        package let controlSocketPath: String?
        package let servesWebClient: Bool
        /// Nil: the gateway works out for itself where browsers may find it.
        package let publicOrigin: String?
    }

    package struct Proxies: Sendable, Equatable {
        package let trusted: TrustedProxies
        /// Whether they begin each connection with a PROXY header.
        package let sendHeader: Bool
    }
}

/// DEFAULT_DIALECT
package enum DialectChoice: String, CaseIterable, Sendable {
    case auto, raw, terminal, gmcp, json, typed, legacy
}
