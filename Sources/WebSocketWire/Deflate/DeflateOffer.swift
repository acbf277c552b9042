/// A client's valid offer of permessage-deflate (RFC 7692 §7.1).
package struct DeflateOffer: Hashable, Sendable {
    package static let name = "permessage-deflate"

    /// §7.1.1.1: the server must reset its window after each message.
    package private(set) var serverNoContextTakeover = false
    /// §7.1.1.2: the client will reset its window after each message, whatever the response says.
    package private(set) var clientNoContextTakeover = false
    /// §7.1.2.1: the maximum size of the server's window, 8 to 15 bits.
    package private(set) var serverMaxWindowBits: Int?
    /// §7.1.2.2: whether the response may limit the client's window.
    package private(set) var allowsClientMaxWindowBits = false
    /// §7.1.2.2: the maximum size of the client's window, whatever the response says.
    package private(set) var clientMaxWindowBits: Int?

    /// Nil if the offer is for another extension or must be declined: a parameter is undefined for offers, has an invalid value or is
    /// repeated (§7.1).
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
