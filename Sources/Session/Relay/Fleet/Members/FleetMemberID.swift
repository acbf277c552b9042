import Admission
import Synchronization
import WireText

/// The id of this gateway among those of its fleet, by which the store's rows name it. Safe from any thread.
///
/// It goes to the process that takes over, as the sessions do: so every row says the truth before and after, without a
/// write. What stays behind has another id from then on, and says nothing under the former one: neither that it is well
/// nor that it leaves.
package final class FleetMemberID: Sendable {
    private static let byteCount = 16

    private let ids: Mutex<(current: String, former: String?)>

    /// - Parameter id: of the process that this one replaces; nil: a new one.
    package init(_ id: String? = nil) { ids = Mutex((id ?? Self.make(), nil)) }

    private static func make() -> String { Hexadecimal.encode(RandomBytes.make(byteCount)) }

    package var current: String { ids.withLock { $0.current } }

    /// Whether another process has it now.
    func isFormer(_ id: String) -> Bool { ids.withLock { $0.former }?.utf8.elementsEqual(id.utf8) ?? false }

    package func renew() { ids.withLock { $0 = (Self.make(), $0.current) } }
}
