/// Local addresses in 127.0.0.0/8, all of which belong to Linux's loopback device: for a gateway that counts by address.
struct SourceAddresses: Hashable, Sendable {
    /// 127.0.0.1 is left free for observers.
    static let maximumCount = 65_000

    let count: Int
    /// The number of the first address, from 0.
    var first = 0

    /// - Returns: nil if the system chooses the address.
    func address(of client: Int) -> String? {
        guard count > 0 else { return nil }
        let number = first + client % count + 2
        return "127.0.\(number >> 8).\(number & 255)"
    }
}
