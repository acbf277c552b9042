package import FoundationEssentials

/// What a page asks its browser for.
package struct PasskeyRequest: Sendable {
    package var rpID: String
    package var origin: String
    package var challenge: [UInt8]
    /// nil leaves the member out.
    package var isCrossOrigin: Bool?
    package var topOrigin: String?

    package init(
        rpID: String, origin: String, challenge: [UInt8], isCrossOrigin: Bool? = false, topOrigin: String? = nil
    ) {
        (self.rpID, self.origin, self.challenge) = (rpID, origin, challenge)
        (self.isCrossOrigin, self.topOrigin) = (isCrossOrigin, topOrigin)
    }

    /// The members of the client data with their JSON, in the order of browsers (section 5.8.1.1 of Web Authentication
    /// Level 3).
    func clientData(_ type: String) -> [(name: String, json: String)] {
        var members = [
            ("type", Self.quoted(type)), ("challenge", Self.quoted(Self.base64URL(challenge))),
            ("origin", Self.quoted(origin)),
        ]
        if let isCrossOrigin { members.append(("crossOrigin", "\(isCrossOrigin)")) }
        if let topOrigin { members.append(("topOrigin", Self.quoted(topOrigin))) }
        return members
    }

    package static func quoted(_ text: String) -> String { "\"\(text)\"" }

    package static func base64URL(_ bytes: [UInt8]) -> String {
        let text = Data(bytes).base64EncodedString().utf8.compactMap { byte -> UInt8? in
            switch byte {
            case UInt8(ascii: "+"): UInt8(ascii: "-")
            case UInt8(ascii: "/"): UInt8(ascii: "_")
            case UInt8(ascii: "="): nil
            default: byte
            }
        }
        return String(decoding: text, as: UTF8.self)
    }
}

/// A passkey in a simulated authenticator, together with the browser in front of it: it returns what
/// `navigator.credentials` returns. It shares no code with WebAuthn.
package struct SimulatedPasskey: Sendable {
    package enum Format: Hashable, Sendable {
        case none, packedSelf, packed, apple, androidKey, fidoU2F
        /// A format that is only a name here, with an empty statement.
        case other(String)
    }

    package let key: SimulatedPasskeyKey
    package let credentialID: [UInt8]
    package let aaguid: [UInt8]
    /// The counter of the last signature. It stays at 0 if it begins there with ``countsSignatures`` false.
    package var signCount: UInt32
    package var countsSignatures: Bool
    /// UP, UV, BE and BS.
    package var flags: UInt8

    package static let userPresent: UInt8 = 0x01
    package static let userVerified: UInt8 = 0x04
    package static let backupEligible: UInt8 = 0x08
    package static let backedUp: UInt8 = 0x10

    /// As phones make them: synchronised, with the user verified, without a counter.
    package init(
        _ key: SimulatedPasskeyKey, flags: UInt8 = userPresent | userVerified | backupEligible | backedUp,
        countsSignatures: Bool = false
    ) {
        self.key = key
        credentialID = (0..<32).map { _ in .random(in: .min ... .max) }
        aaguid = Array("simulated passes".utf8)
        (self.flags, self.countsSignatures, signCount) = (flags, countsSignatures, 0)
    }

    /// The result of `navigator.credentials.create()`.
    package func registration(
        _ request: PasskeyRequest, _ format: Format, by vendor: SimulatedVendor, at time: Date,
        changing change: (inout PasskeyRegistrationPlan) throws -> Void = { _ in }
    ) throws -> (clientDataJSON: [UInt8], attestationObject: [UInt8]) {
        var plan = try PasskeyRegistrationPlan(self, request, format, vendor, at: time)
        try change(&plan)
        return try plan.encoded()
    }

    /// The result of `navigator.credentials.get()`, with the next counter.
    package mutating func authentication(
        _ request: PasskeyRequest, changing change: (inout PasskeyAuthenticationPlan) throws -> Void = { _ in }
    ) throws -> (clientDataJSON: [UInt8], authenticatorData: [UInt8], signature: [UInt8]) {
        if countsSignatures { signCount &+= 1 }
        var plan = PasskeyAuthenticationPlan(self, request)
        try change(&plan)
        return try plan.encoded()
    }
}
