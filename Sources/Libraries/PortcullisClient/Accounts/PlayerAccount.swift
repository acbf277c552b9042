public import Foundation

/// A player's account, as the gate tells it. It has no name and no address.
public struct PlayerAccount: Sendable, Equatable {
    public let id: String
    public let passkeys: [PlayerPasskey]
    public let devices: [PlayerDevice]
}

public struct PlayerPasskey: Sendable, Equatable {
    /// For ``PlayerAccounts/removePasskey(_:)``.
    public let id: String
    /// The player's own words.
    public let label: String
    public let madeAt: Date
    public let lastUsedAt: Date?
    /// The player's system keeps copies of it.
    public let isBackedUp: Bool
}

public struct PlayerDevice: Sendable, Equatable {
    /// For ``PlayerAccounts/removeDevice(_:)``: the identifier of its App Attest key.
    public let id: String
    /// The player's own words.
    public let label: String
    public let joinedAt: Date
}

/// A passkey that the gate has just registered.
public struct RegisteredPasskey: Sendable, Equatable {
    public let account: String
    /// As in ``PlayerPasskey/id``.
    public let passkey: String
}

// MARK: The gate's answers

extension PlayerAccount {
    /// More are not believed.
    static let maximumEntries = 64
    /// Of a passkey's identifier in base64url.
    static let maximumIDBytes = 1_364

    init(_ members: JSONMembers) throws(GateError) {
        id = try members.identifier("account")
        guard let passkeys = members.objects("passkeys", atMost: Self.maximumEntries) else {
            throw .malformedAnswer(.member("passkeys"))
        }
        guard let devices = members.objects("devices", atMost: Self.maximumEntries) else {
            throw .malformedAnswer(.member("devices"))
        }
        var made: (passkeys: [PlayerPasskey], devices: [PlayerDevice]) = ([], [])
        for entry in passkeys { made.passkeys.append(try PlayerPasskey(entry)) }
        for entry in devices { made.devices.append(try PlayerDevice(entry)) }
        (self.passkeys, self.devices) = made
    }
}

extension PlayerPasskey {
    fileprivate init(_ members: JSONMembers) throws(GateError) {
        (id, label) = (try members.identifier("id"), members.string("label") ?? "")
        madeAt = try members.time("madeAt")
        lastUsedAt = members.integer("lastUsedAt") == nil ? nil : try members.time("lastUsedAt")
        isBackedUp = members.boolean("isBackedUp") ?? false
    }
}

extension PlayerDevice {
    fileprivate init(_ members: JSONMembers) throws(GateError) {
        (id, label) = (try members.identifier("id"), members.string("label") ?? "")
        joinedAt = try members.time("joinedAt")
    }
}

extension RegisteredPasskey {
    init(_ members: JSONMembers) throws(GateError) {
        (account, passkey) = (try members.identifier("account"), try members.identifier("passkey"))
    }
}

extension JSONMembers {
    func identifier(_ name: StaticString) throws(GateError) -> String {
        guard let text = string(name), (1...PlayerAccount.maximumIDBytes).contains(text.utf8.count),
            text.utf8.allSatisfy(\.isVisibleASCII)
        else { throw .malformedAnswer(.member("\(name)")) }
        return text
    }

    /// Milliseconds since 1970.
    fileprivate func time(_ name: StaticString) throws(GateError) -> Date {
        guard let milliseconds = integer(name) else { throw .malformedAnswer(.member("\(name)")) }
        return Date(timeIntervalSince1970: Double(milliseconds) / 1_000)
    }
}
