import Glibc
import Synchronization

/// A connected socket between two reactors. Whoever takes it owns it; if nobody does it is closed.
final class MovingSocket: Sendable {
    private static let taken: Int32 = -1

    /// What was sent, and the kernel hasn't taken yet.
    let unsent: [UInt8]
    private let descriptor: Atomic<Int32>

    init(_ descriptor: Int32, unsent: [UInt8]) {
        self.descriptor = Atomic(descriptor)
        self.unsent = unsent
    }

    deinit {
        let left = take()
        if left != Self.taken { Glibc.close(left) }
    }

    /// The first call gets it.
    func take() -> Int32 { descriptor.exchange(Self.taken, ordering: .relaxed) }
}
