// Stand-in for Apple's module: the signatures of its public interface that the library uses.
import Foundation

public struct NWPath: Sendable {
    public enum Status: Sendable { case satisfied, unsatisfied, requiresConnection }

    public let status: Status
}

public final class NWPathMonitor: Sendable {
    public init() {}

    public var pathUpdateHandler: (@Sendable (_ newPath: NWPath) -> Void)? {
        get { nil }
        set { _ = newValue }
    }

    public func start(queue: DispatchQueue) {}

    public func cancel() {}
}
