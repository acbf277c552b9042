import Testing

@testable import Reactors

/// The loopback addresses that this machine has. Many containers have no IPv6.
enum Loopback {
    static let hasIPv6 = (try? ListeningSocket(host: "::1", port: 0).port) != nil
    static let addresses = ["127.0.0.1"] + (hasIPv6 ? ["::1"] : [])

    /// Those of the lists that need nothing else.
    static func available(_ lists: [[String]]) -> [[String]] { lists.filter { hasIPv6 || !$0.contains("::1") } }
}

extension Trait where Self == ConditionTrait {
    static var needsIPv6: Self { .enabled(if: Loopback.hasIPv6, "this machine has no ::1") }
}
