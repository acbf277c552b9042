package import DPoP
package import Settings

extension SigningKeySchedule {
    /// The gateway's, for tools that work on its store.
    package init(_ tokens: SectionValues<TokenSection>) { self = TokenState.schedule(tokens) }
}
