/// Where a client asks to be connected to, in the words of whichever dialect it speaks. ``TargetPolicy`` decides what becomes of it.
package enum TargetRequest: Hashable, Sendable {
    /// Wherever the gateway leads by default.
    case standard
    /// A route of the operator's, by its name.
    case route(String)
    /// As the client wrote it: nothing about the host has been checked.
    case address(host: String, port: UInt16)
}
