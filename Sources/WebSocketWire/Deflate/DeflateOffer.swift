/// A client's offer of permessage-deflate that is valid (RFC 7692 §7.1).
package struct DeflateOffer: Hashable, Sendable {
    package static let name = "permessage-deflate"

    /// §7.1.1.1: the server is to forget its window after each message.
    package private(set) var serverNoContextTakeover = false
    /// §7.1.1.2: the client will do so whatever the answer says.
    package private(set) var clientNoContextTakeover = false
    /// §7.1.2.1: the server's window is to be no larger than this, 8 to 15 bits.
    package private(set) var serverMaxWindowBits: Int?
    /// §7.1.2.2: whether the answer may limit the client's window.
    package private(set) var allowsClientMaxWindowBits = false
    /// §7.1.2.2: the client's window won't be larger than this, whatever the answer says.
    package private(set) var clientMaxWindowBits: Int?

    /// Nil where the offer is of another extension, or is to be declined: for a parameter that isn't defined for an offer, has an invalid value
    /// or comes twice (§7.1).
    package init?(_ offered: WebSocketExtension) {
        guard offered.name == Self.name else { return nil }
        guard Set(offered.parameters.map(\.name)).count == offered.parameters.count else { return nil }
        for parameter in offered.parameters {
            guard read(parameter) else { return nil }
        }
    }

    private mutating func read(_ parameter: WebSocketExtension.Parameter) -> Bool {
        switch parameter.name {
        case "server_no_context_takeover":
            serverNoContextTakeover = true
            return parameter.value == nil
        case "client_no_context_takeover":
            clientNoContextTakeover = true
            return parameter.value == nil
        case "server_max_window_bits":
            serverMaxWindowBits = parameter.value.flatMap(Self.windowBits)
            return serverMaxWindowBits != nil
        case "client_max_window_bits":
            allowsClientMaxWindowBits = true
            clientMaxWindowBits = parameter.value.flatMap(Self.windowBits)
            return parameter.value == nil || clientMaxWindowBits != nil
        default:
            return false
        }
    }

    /// §7.1.2: a decimal number from 8 to 15 without leading zeros.
    static func windowBits(_ value: String) -> Int? {
        switch value {
        case "8": 8
        case "9": 9
        case "10": 10
        case "11": 11
        case "12": 12
        case "13": 13
        case "14": 14
        case "15": 15
        default: nil
        }
    }
}
