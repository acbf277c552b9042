/// How the Mud eXtension Protocol, a markup inside the text, is handled.
package enum MXPMode: String, Hashable, Sendable, CaseIterable {
    /// The option is accepted and the text passes unchanged: the client renders the markup.
    case pass
    /// The option is accepted and the markup is removed.
    case strip
    /// The option is refused, so the target sends no markup.
    case refuse
}
