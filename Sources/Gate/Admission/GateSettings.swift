package import WireText

/// The settings of a gate, and the state that it shares with the rest of the gateway. The defaults are the strict ones.
package struct GateSettings: Sendable {
    package var drain: DrainSwitch
    /// In addition to the gateway's own origin.
    package var allowedOrigins: [WebOrigin]
    /// `ALLOW_MISSING_ORIGIN`.
    package var allowsMissingOrigin: Bool = true
    /// `BLOCK_LIST_PATH`.
    package var blockList = BlockList()
    /// Applied in addition; nil: alone.
    package var fleetBlockList: SharedBlockList?
    /// `AUTH_MODE=shared-secret`: one of these is required in addition to the method's credential. `nil`: none is.
    package var sharedSecrets: SharedSecrets?
    package var leases: SessionLeases
    /// Whether an identity has a session that its client may be resuming.
    package var mayComeBack: @Sendable (Identity, IPAddress) -> Bool = { _, _ in false }
    /// Finds a session of this gateway by its token, for an upgrade that another gateway has passed on. Without it all
    /// of those are refused.
    package var findSession: @Sendable (SessionCredential, MonotonicTime) -> FoundSession? = { _, _ in nil }
    package var limits: UpgradeLimits
    /// Seconds after which a store that couldn't answer may answer again; at least 1. A fleet's store that isn't
    /// reached isn't asked for a while.
    package var storeRetryAfter: @Sendable () -> Int = { 1 }
    /// In the order in which a request is searched for credentials. Without methods every request is refused.
    package var methods: [any AdmissionMethod]

    package init(
        drain: DrainSwitch, allowedOrigins: [WebOrigin] = [], leases: SessionLeases,
        limits: UpgradeLimits = UpgradeLimits(), methods: [any AdmissionMethod] = []
    ) {
        self.drain = drain
        self.allowedOrigins = allowedOrigins
        self.leases = leases
        self.limits = limits
        self.methods = methods
    }
}
