/// Staying signed in, and logging out.
extension PlayerAccounts {
    /// Whether the player has to sign in, as far as this device knows: it shows no dialog, and asks no server.
    public func authenticationState() async throws(GateError) -> AuthenticationState {
        if await isSignedIn { return .authenticated }
        do {
            guard let reason = try await custody.reason(at: requests.caller.serverTime) else { return .authenticated }
            return .needsSignIn(reason)
        } catch {
            throw GateError(wrapping: error)
        }
    }

    /// Ends the sign-in at the gate, with its sessions, and forgets the tokens.
    ///
    /// - Parameter everywhere: ends all sign-ins of the account.
    /// - Throws: if the gate couldn't be told: then the tokens are kept, to try again. ``signOut()`` forgets them.
    public func logOut(everywhere: Bool = false) async throws(GateError) {
        do {
            let body = everywhere ? #"{"everywhere":true}"# : "{}"
            let answer = try await members(.post, AccountPath.logOut, Array(body.utf8))
            guard answer.boolean("signedOut") == true else { throw GateError.malformedAnswer(.member("signedOut")) }
            await signOut()
            requests.caller.log.info("logged out")
        } catch let error as GateError where error == .signInRequired {
            await signOut()
        } catch {
            throw GateError(wrapping: error)
        }
    }

    /// Signs in by this device, which has joined an account: without a dialog for a passkey. The refresh token is kept
    /// as by ``signIn()``.
    public func signInWithDevice() async throws(GateError) {
        do {
            let thumbprint = try await issuer.thumbprint()
            guard let jkt = BinaryText.bytes(base64: thumbprint.utf8) else { throw GateError.deviceKey("thumbprint") }
            let options = try await signInOptions(AccountPath.deviceSignInOptions, for: thumbprint)
            guard let challenge = options.bytes("challenge", PasskeyOptions.challengeBytes) else {
                throw GateError.malformedAnswer(.member("challenge"))
            }
            try await keep { [self] in try await answer(to: challenge, for: jkt) }
            requests.caller.log.info("signed in by the device")
        } catch {
            throw GateError(wrapping: error)
        }
    }

    /// No other assertion is over the same statement.
    private func answer(to challenge: [UInt8], for jkt: [UInt8]) async throws -> TokenIssuer.Answer {
        let statement = Array("portcullis device sign-in\0".utf8) + challenge + jkt
        return try await requests.assertions.use { [self] key in
            try await requests.assertions.sign(statement, by: key) { [issuer] assertion in
                let body = JSONText.object {
                    $0.add("assertion") {
                        $0.add("keyId", key)
                        $0.add("data", BinaryText.base64(assertion))
                        $0.add("challenge", BinaryText.base64URL(challenge))
                    }
                }
                return try await issuer.signIn(withDevice: body)
            }
        }
    }
}
