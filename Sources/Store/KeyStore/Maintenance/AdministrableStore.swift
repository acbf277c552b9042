/// A store as the operator's commands use it, whichever it is. A gateway may be using it at the same time.
package protocol AdministrableStore: KeyMaintenance, DevelopmentTokenStore, AccountStore {
    /// Its calls block.
    var signingKeyStore: any SigningKeyStore { get }
}
