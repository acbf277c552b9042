import DeviceSimulation
import Foundation
import WireText

/// The JSON forms of options and credentials (Web Authentication Level 3, section 5.1), with the members that matter
/// here.
enum PasskeyJSON {
    struct CreationOptions: Decodable {
        struct RelyingParty: Decodable { let id: String? }
        struct User: Decodable { let id: String }
        struct Parameter: Decodable { let alg: Int64 }

        let rp: RelyingParty
        let user: User
        let challenge: String
        let pubKeyCredParams: [Parameter]
        let excludeCredentials: [Descriptor]?
    }

    struct RequestOptions: Decodable {
        let rpId: String?
        let challenge: String
        let allowCredentials: [Descriptor]?
    }

    struct Descriptor: Decodable { let id: String }

    struct Response: Encodable {
        let clientDataJSON: String
        var attestationObject: String?
        var transports: [String]?
        var authenticatorData: String?
        var signature: String?
        var userHandle: String?

        init(clientDataJSON: String) { self.clientDataJSON = clientDataJSON }
    }

    struct Credential: Encodable {
        let id: String
        let rawId: String
        let type = "public-key"
        let authenticatorAttachment = "platform"
        let clientExtensionResults: [String: String] = [:]
        let response: Response

        init(id: String, response: Response) { (self.id, rawId, self.response) = (id, id, response) }
    }

    static func read<Options: Decodable>(_ type: Options.Type) throws -> Options {
        let data = try FileHandle.standardInput.readToEnd() ?? Data()
        do { return try JSONDecoder().decode(type, from: data) } catch {
            throw SimOutput.failure("standard input has no options of a WebAuthn server.")
        }
    }

    static func write(_ credential: Credential) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        SimOutput.say(String(decoding: try encoder.encode(credential), as: UTF8.self))
    }

    static func text(_ bytes: [UInt8]) -> String { PasskeyRequest.base64URL(bytes) }

    static func bytes(_ text: String) throws -> [UInt8] {
        guard let bytes = Base64URL.decode(text) else { throw SimOutput.failure("the challenge is not base64url.") }
        return bytes
    }
}
