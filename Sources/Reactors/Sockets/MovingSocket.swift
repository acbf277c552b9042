import Glibc
import Synchronization

/// A connected socket on its way between two reactors. The caller of `take` owns it; otherwise it is closed.
final class MovingSocket: Sendable {
    private static let taken: Int32 = -1

    /// Sent bytes that the kernel hasn't taken yet.
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

    /// Only the first call gets the descriptor.
    func take() -> Int32 { descriptor.exchange(Self.taken, ordering: .relaxed) }
}
