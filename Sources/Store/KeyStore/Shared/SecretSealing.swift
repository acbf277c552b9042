/// Encrypts secrets for a store whose readers mustn't learn them, and decrypts what the store returns.
///
/// The key isn't in the store. Whoever writes to the store can't make a secret that is accepted, nor exchange two of
/// them.
package protocol SecretSealing: Sendable {
    /// - Parameter context: what the secret is for; authenticated, not encrypted.
    func seal(_ secret: [UInt8], for context: String) throws(KeyRegistryError) -> [UInt8]

    /// - throws: `.unavailable` if it was sealed for something else or under an unknown key, or was damaged.
    func open(_ sealed: [UInt8], for context: String) throws(KeyRegistryError) -> [UInt8]
}
