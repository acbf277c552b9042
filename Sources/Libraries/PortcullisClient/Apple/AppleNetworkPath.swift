#if canImport(Network)
    import Foundation
    import Network

    /// The system's network path.
    public struct AppleNetworkPath: NetworkPath {
        public init() {}

        public func observe(_ changed: @escaping @Sendable (_ isAvailable: Bool) -> Void) -> @Sendable () -> Void {
            let monitor = NWPathMonitor()
            monitor.pathUpdateHandler = { changed($0.status == .satisfied) }
            monitor.start(queue: DispatchQueue(label: "portcullis.network-path"))
            return { monitor.cancel() }
        }
    }
#endif
