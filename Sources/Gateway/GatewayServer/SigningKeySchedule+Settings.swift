package import DPoP
package import Settings

extension SigningKeySchedule {
    /// The gateway's, for tools that work on its store.
    ///
    /// - Parameter lead: seconds for which a new key is published before it signs; nil: a day.
    package init(_ tokens: SectionValues<TokenSection>, lead: Int? = nil) {
        self =
            lead.map { TokenState.schedule(tokens.live, lead: Double($0)) } ?? TokenState.schedule(tokens.live)
    }
}
