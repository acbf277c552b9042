/// The output of one step of a ``Translation``. The driver reuses one value: it carries out its contents after each step and
/// empties it.
package struct TranslationOutput: Sendable {
    /// Messages for the client, to be sent before the orders are carried out.
    package var frames = FrameBuffer()
    /// Bytes for the target.
    package var toTarget: [UInt8] = []
    package var orders: [TranslationOrder] = []

    package init() {}

    package mutating func removeAll() {
        frames.removeAll()
        toTarget.removeAll(keepingCapacity: toTarget.capacity <= FrameBuffer.keptCapacity)
        orders = []  // Rare, and the driver still holds the array: emptying it in place would copy it.
    }
}

package enum TranslationOrder: Hashable, Sendable {
    /// Authorise this target and connect to it, or keep the current connection if it is the same target. Answered with
    /// ``Translation/connected(_:telnet:into:)`` or ``Translation/dialFailed(_:into:)``. The size is the client's, in characters,
    /// if it has sent one.
    case dial(TargetRequest, columns: UInt16?, rows: UInt16?)
    /// Give the client its earlier session if it owns that session: the driver drops this translation and calls
    /// ``Translation/attached(_:after:into:)`` on the session's own. Otherwise it calls ``Translation/resumeFailed(_:into:)``.
    /// Messages of the client before the answer are refused.
    case resume(ResumeRequest)
    /// Send what is queued on both sides, then close the WebSocket for this reason and finish the target.
    case close(CloseReason)
}
