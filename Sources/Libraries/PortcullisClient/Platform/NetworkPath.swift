/// Tells when the network has come or gone, so that a connection comes back at once instead of at the next attempt.
public protocol NetworkPath: Sendable {
    /// Calls `changed` with each change, until the returned closure is called.
    ///
    /// - Parameter changed: whether there is a network now.
    func observe(_ changed: @escaping @Sendable (_ isAvailable: Bool) -> Void) -> @Sendable () -> Void
}

/// Where nothing tells.
public struct UnobservedNetworkPath: NetworkPath {
    public init() {}

    public func observe(_ changed: @escaping @Sendable (Bool) -> Void) -> @Sendable () -> Void { {} }
}
