public import Foundation

/// What the gate wants of a new passkey.
public struct PasskeyCreationOptions: Sendable {
    /// The whole, as `parseCreationOptionsFromJSON()` reads it (Web Authentication Level 3 section 5.1.8), for
    /// authenticators that take JSON.
    public let json: Data
    public let challenge: Data
    /// The domain that the passkey is for.
    public let relyingParty: String
    /// The account, as the passkey keeps it: 1 to 64 bytes.
    public let userID: Data
    /// What the system shows beside the passkey.
    public let userName: String
    /// Passkeys of the account: an authenticator that has one makes no second one.
    public let excluded: [Data]

    /// - Parameter json: `PublicKeyCredentialCreationOptionsJSON`.
    /// - Throws: ``GateError/malformedAnswer(_:)``
    public init(json: Data) throws(GateError) { try self.init(try PasskeyOptions.members(json)) }

    init(_ members: JSONMembers) throws(GateError) {
        json = Data(members.bytes)
        challenge = try PasskeyOptions.challenge(members)
        guard let party = members.object("rp") else { throw .malformedAnswer(.member("rp")) }
        relyingParty = try PasskeyOptions.relyingParty(party, "id")
        guard let user = members.object("user"), let id = user.bytes("id", 1...64),
            let name = user.string("name"), name.utf8.count <= 256
        else { throw .malformedAnswer(.member("user")) }
        (userID, userName) = (Data(id), name)
        excluded = try PasskeyOptions.credentials(members, "excludeCredentials")
    }
}

/// What the gate wants signed by a passkey.
public struct PasskeyRequestOptions: Sendable {
    /// The whole, as `parseRequestOptionsFromJSON()` reads it (section 5.1.9).
    public let json: Data
    public let challenge: Data
    /// The domain that the passkey is for.
    public let relyingParty: String
    /// The passkeys that may be used; empty: any one of this domain.
    public let allowed: [Data]

    /// - Parameter json: `PublicKeyCredentialRequestOptionsJSON`.
    /// - Throws: ``GateError/malformedAnswer(_:)``
    public init(json: Data) throws(GateError) { try self.init(try PasskeyOptions.members(json)) }

    init(_ members: JSONMembers) throws(GateError) {
        json = Data(members.bytes)
        challenge = try PasskeyOptions.challenge(members)
        relyingParty = try PasskeyOptions.relyingParty(members, "rpId")
        allowed = try PasskeyOptions.credentials(members, "allowCredentials")
    }
}

/// What both kinds of options have.
enum PasskeyOptions {
    static let challengeBytes = 16...1_024
    static let credentialBytes = 1...1_023
    static let maximumCredentials = 64

    static func members(_ json: Data) throws(GateError) -> JSONMembers {
        do { return try JSONMembers(Array(json), maximumBytes: ClientLimits.gateBodyBytes) } catch {
            throw .malformedAnswer(error == .tooDeep ? .tooDeep : .notJSON)
        }
    }

    static func challenge(_ members: JSONMembers) throws(GateError) -> Data {
        guard let bytes = members.bytes("challenge", challengeBytes) else {
            throw .malformedAnswer(.member("challenge"))
        }
        return Data(bytes)
    }

    static func relyingParty(_ members: JSONMembers, _ name: StaticString) throws(GateError) -> String {
        guard let domain = members.string(name), (1...253).contains(domain.utf8.count),
            domain.utf8.allSatisfy({ $0.isASCIILetterOrDigit || "-.".utf8.contains($0) })
        else { throw .malformedAnswer(.member("\(name)")) }
        return domain
    }

    static func credentials(_ members: JSONMembers, _ name: StaticString) throws(GateError) -> [Data] {
        guard members.raw(name) != nil else { return [] }
        let ids = members.objects(name, atMost: maximumCredentials)?.map { $0.bytes("id", credentialBytes) }
        guard let ids, ids.allSatisfy({ $0 != nil }) else { throw .malformedAnswer(.member("\(name)")) }
        return ids.compactMap { $0.map { Data($0) } }
    }
}
