import Crypto
import StrictJSON

/// The client data of a ceremony (Web Authentication Level 3, section 5.8.1), read and not verified.
///
/// A server that keeps no challenges reads ``challenge`` here, finds out whether it is its own, fresh and unused, and
/// then gives it to the verifier.
public struct CollectedClientData: Sendable {
    /// `webauthn.create` or `webauthn.get`.
    public let type: String
    /// base64url without padding, as the client wrote it.
    public let challenge: String
    public let origin: String
    /// Whether the ceremony took place in a frame of a page with another origin. Absent means no.
    public let isCrossOrigin: Bool
    /// The origin of that page. Browsers of Level 2 leave it out.
    public let topOrigin: String?
    /// As received: what the credential has signed the hash of.
    let json: [UInt8]

    /// Reads the client data, as the first two steps that concern it say.
    ///
    /// - §7.1 steps 5 and 6, §7.2 steps 8 and 9. "Let JSONtext be the result of running UTF-8 decode on the value of
    ///   cData … Let C … be the result of running an implementation-specific JSON parser on JSONtext."
    ///
    /// The text is strict JSON: nothing that two parsers could read differently, so no member may come twice. Other
    /// members than those of the specification are ignored, as it demands.
    ///
    /// - Parameter bytes: `clientDataJSON`, at most ``WebAuthnLimits/maximumClientDataBytes``.
    public init(json bytes: [UInt8]) throws(CeremonyError) {
        let object: JSONObject
        do { object = try JSONReader.readObject(Self.withoutMark(bytes), within: .clientData) } catch {
            throw .malformedClientData(MalformedJSON(error))
        }
        json = bytes
        type = try Self.text(.type, in: object)
        challenge = try Self.text(.challenge, in: object)
        origin = try Self.text(.origin, in: object)
        isCrossOrigin = try Self.isCrossOrigin(object)
        topOrigin = object[ClientDataMember.topOrigin.rawValue] == nil ? nil : try Self.text(.topOrigin, in: object)
    }

    /// UTF-8 decode strips a byte order mark.
    private static func withoutMark(_ bytes: [UInt8]) -> [UInt8] {
        bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(bytes.dropFirst(3)) : bytes
    }

    private static func text(_ member: ClientDataMember, in object: JSONObject) throws(CeremonyError) -> String {
        guard let text = object[member.rawValue]?.string else { throw .clientDataMember(member) }
        return text
    }

    private static func isCrossOrigin(_ object: JSONObject) throws(CeremonyError) -> Bool {
        guard let value = object[ClientDataMember.crossOrigin.rawValue] else { return false }
        guard case .bool(let isCrossOrigin) = value else { throw .clientDataMember(.crossOrigin) }
        return isCrossOrigin
    }
}

/// The members of the client data that are read.
public enum ClientDataMember: String, Hashable, Sendable, CaseIterable {
    case type, challenge, origin, crossOrigin, topOrigin
}

/// The two ceremonies, as the client data names them.
enum CeremonyType: String, Hashable, Sendable, CaseIterable {
    case create = "webauthn.create"
    case get = "webauthn.get"
}
