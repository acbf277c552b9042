public import Foundation

/// What an authenticator returns: a new passkey, or what a passkey has signed.
public struct PasskeyCredential: Sendable {
    static let maximumBytes = 48 << 10

    /// Names the passkey.
    public let id: Data
    /// The member `response`, a JSON object.
    private let response: [UInt8]

    /// A new passkey.
    public init(registration id: Data, clientDataJSON: Data, attestationObject: Data) {
        self.id = id
        response = JSONText.object {
            $0.add("clientDataJSON", BinaryText.base64URL(clientDataJSON))
            $0.add("attestationObject", BinaryText.base64URL(attestationObject))
        }
    }

    /// A signature of a passkey. The user handle is the account, if the authenticator tells it.
    public init(
        assertion id: Data, clientDataJSON: Data, authenticatorData: Data, signature: Data, userHandle: Data?
    ) {
        self.id = id
        response = JSONText.object {
            $0.add("clientDataJSON", BinaryText.base64URL(clientDataJSON))
            $0.add("authenticatorData", BinaryText.base64URL(authenticatorData))
            $0.add("signature", BinaryText.base64URL(signature))
            if let userHandle, !userHandle.isEmpty { $0.add("userHandle", BinaryText.base64URL(userHandle)) }
        }
    }

    /// From an authenticator that returns JSON.
    ///
    /// - Parameter json: what `toJSON()` of a credential returns (Web Authentication Level 3 section 5.1).
    /// - Throws: ``PasskeyFailure/malformed``
    public init(json: Data) throws(PasskeyFailure) {
        guard let members = try? JSONMembers(Array(json), maximumBytes: Self.maximumBytes),
            let id = members.bytes("id", PasskeyOptions.credentialBytes), members.object("response") != nil,
            let response = members.raw("response")
        else { throw .malformed }
        (self.id, self.response) = (Data(id), Array(response))
    }

    /// As `toJSON()` returns it.
    public var json: Data { Data(bytes) }

    var bytes: [UInt8] { JSONText.object { add(to: &$0) } }

    func add(to text: inout JSONText) {
        text.add("id", BinaryText.base64URL(id))
        text.add("rawId", BinaryText.base64URL(id))
        text.add("type", "public-key")
        text.add("response", json: response)
    }
}
