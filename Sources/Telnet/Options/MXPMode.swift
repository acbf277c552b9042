/// What becomes of the Mud eXtension Protocol, a markup inside the text.
package enum MXPMode: String, Hashable, Sendable, CaseIterable {
    /// The option is agreed to and the text passes untouched: the client renders the markup.
    case pass
    /// The option is agreed to and the markup is taken out.
    case strip
    /// The option is refused: a target then sends none.
    case refuse
}
