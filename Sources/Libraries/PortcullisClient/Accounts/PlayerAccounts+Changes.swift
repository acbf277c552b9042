/// What a player does with an account after signing in. Each change shows the dialog for a passkey, because a token
/// alone isn't enough for it.
extension PlayerAccounts {
    /// The account with its passkeys and devices.
    public func account() async throws(GateError) -> PlayerAccount {
        do {
            return try PlayerAccount(try await members(.get, AccountPath.devices))
        } catch {
            throw GateError(wrapping: error)
        }
    }

    /// Adds a passkey: for instance one of another system, or a security key. There are two dialogs: for a passkey of
    /// the account, and for the new one.
    public func addPasskey(label: String = "") async throws(GateError) -> RegisteredPasskey {
        do {
            try Self.check(label)
            let body = Self.body(try await freshPasskey())
            let options = try await members(.post, AccountPath.registrationOptions, body)
            let new = try await newPasskey(options, label)
            return try RegisteredPasskey(try await members(.post, AccountPath.registration, new))
        } catch {
            throw GateError(wrapping: error)
        }
    }

    /// Joins this device to the account. Its App Attest key is registered first, if needed.
    ///
    /// - Returns: the device's identifier, as in ``PlayerDevice/id``.
    public func joinDevice(label: String = "") async throws(GateError) -> String {
        do {
            try Self.check(label)
            return try await requests.assertions.use { [self] key in
                let passkey = try await freshPasskey()
                let answer = try await members(.post, AccountPath.deviceOptions, Array("{}".utf8))
                guard let challenge = answer.bytes("challenge", PasskeyOptions.challengeBytes) else {
                    throw GateError.malformedAnswer(.member("challenge"))
                }
                let statement = try Self.statement(challenge, answer)
                return try await requests.assertions.sign(statement, by: key) { [self] assertion in
                    let body = Self.body(passkey, JoiningDevice(key, assertion, challenge), label)
                    return try await members(.post, AccountPath.device, body).identifier("device")
                }
            }
        } catch {
            throw GateError(wrapping: error)
        }
    }

    /// What a device signs to join: no other assertion is over the same.
    private static func statement(_ challenge: [UInt8], _ answer: JSONMembers) throws(GateError) -> [UInt8] {
        guard let account = BinaryText.bytes(hexadecimal: try answer.identifier("account")) else {
            throw .malformedAnswer(.member("account"))
        }
        return Array("portcullis account device\0".utf8) + challenge + account
    }

    /// Removes a passkey. Its sign-ins and their sessions end.
    public func removePasskey(_ id: String) async throws(GateError) {
        do { try await remove(try AccountPath.passkey(id)) } catch { throw GateError(wrapping: error) }
    }

    /// Takes a device from the account.
    public func removeDevice(_ id: String) async throws(GateError) {
        do { try await remove(try AccountPath.device(id)) } catch { throw GateError(wrapping: error) }
    }

    /// Removes the account with everything in it. That can't be taken back.
    public func removeAccount() async throws(GateError) {
        do { try await remove(AccountPath.account) } catch { throw GateError(wrapping: error) }
        await signOut()
    }

    private func remove(_ path: String) async throws {
        let answer = try await members(.delete, path, Self.body(try await freshPasskey()))
        guard answer.boolean("removed") == true else { throw GateError.malformedAnswer(.member("removed")) }
    }

    // MARK: Requests

    /// - Parameter body: nil: none.
    func members(_ method: HTTPMethod, _ path: String, _ body: [UInt8]? = nil) async throws -> JSONMembers {
        try requests.caller.members(of: try await tokens.send(method, path, body))
    }

    private struct JoiningDevice {
        let key, assertion, challenge: String

        init(_ key: String, _ assertion: [UInt8], _ challenge: [UInt8]) {
            (self.key, self.assertion) = (key, BinaryText.base64(assertion))
            self.challenge = BinaryText.base64URL(challenge)
        }
    }

    /// - Parameter passkey: what a passkey has signed for this change, in JSON.
    private static func body(_ passkey: [UInt8], _ device: JoiningDevice? = nil, _ label: String = "") -> [UInt8] {
        JSONText.object {
            $0.add("passkey", json: passkey)
            guard let device else { return }
            $0.add("assertion") {
                $0.add("keyId", device.key)
                $0.add("data", device.assertion)
                $0.add("challenge", device.challenge)
            }
            $0.add("label", label)
        }
    }
}
