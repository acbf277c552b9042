/// The output of one step of a ``Translation``. The session reuses one value: it carries out its contents after each step and
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
    /// Authorise this target and connect to it, or keep the connection that there is if it's the same. Answered with
    /// ``Translation/connected(_:telnet:into:)`` or ``Translation/dialFailed(_:into:)``.
    case dial(TargetRequest)
    /// Give the client the session that it had, if it is its own: the session that this translation belongs to is dropped, and the other one calls
    /// ``Translation/attached(_:after:into:)`` of that session's. Otherwise ``Translation/resumeFailed(_:into:)``. What the client says
    /// before the answer is refused.
    case resume(ResumeRequest)
    /// Send what is queued on both sides, then close the WebSocket for this reason and finish the target.
    case close(CloseReason)
}
