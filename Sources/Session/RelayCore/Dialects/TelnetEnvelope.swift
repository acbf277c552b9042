import StrictJSON
import Telnet
import WireText

/// Subnegotiations in JSON, as the draft of `json.mudstandards.org` shows them:
/// `{"proto":"telnet_31","id":"NAWS","data":"<base64>"}`.
///
/// The number is the option's. The data is the payload between `IAC SB <option>` and `IAC SE`, or the whole
/// subnegotiation with IAC doubled. The id adds nothing to the number and is ignored. Only what the gateway itself
/// would send for these options is accepted, because the gateway negotiates them.
enum TelnetEnvelope {
    private static let prefix = "telnet_"
    private static let iac: UInt8 = 255

    static func isOne(_ proto: String) -> Bool { option(of: proto) != nil }

    private static func option(of proto: String) -> UInt8? {
        guard proto.hasBytePrefix(prefix), let option = UInt8(proto.droppingBytes(prefix.utf8.count)) else {
            return nil
        }
        return [24, 31, 201].contains(option) ? option : nil
    }

    static func command(of proto: String, data: String) throws(DialectError) -> ClientCommand {
        guard let option = option(of: proto), let bytes = Base64.decode(canonical: data, maximumBytes: data.utf8.count)
        else { throw .notBase64 }
        let payload = payload(bytes, of: option)
        let command: ClientCommand? =
            switch option {
            case 31: size(payload)
            case 24: terminalType(payload)
            default: gmcp(payload)
            }
        guard let command else {
            throw DialectError(.invalidRequest, field: "data", "data is not a message of \(proto)")
        }
        return command
    }

    private static func payload(_ bytes: [UInt8], of option: UInt8) -> ArraySlice<UInt8> {
        guard bytes.starts(with: [iac, 250, option]), bytes.suffix(2) == [iac, 240], bytes.count >= 5 else {
            return bytes[...]
        }
        var payload: [UInt8] = []
        var isDoubled = false
        for byte in bytes[3..<(bytes.count - 2)] {
            isDoubled = byte == iac && !isDoubled
            if !isDoubled { payload.append(byte) }
        }
        return payload[...]
    }

    private static func size(_ payload: ArraySlice<UInt8>) -> ClientCommand? {
        let numbers = payload.map { UInt16($0) }
        guard numbers.count == 4 else { return nil }
        let (columns, rows) = (numbers[0] << 8 | numbers[1], numbers[2] << 8 | numbers[3])
        return columns > 0 && rows > 0 ? .resize(columns: columns, rows: rows) : nil
    }

    /// `IS` followed by a name.
    private static func terminalType(_ payload: ArraySlice<UInt8>) -> ClientCommand? {
        guard payload.first == 0 else { return nil }
        let description = ClientDescription(
            name: nil, terminalType: String(decoding: payload.dropFirst(), as: UTF8.self))
        return description.terminalType == nil ? nil : .describe(description)
    }

    private static func gmcp(_ payload: ArraySlice<UInt8>) -> ClientCommand? {
        let name = String(decoding: payload.prefix { $0 != 0x20 }, as: UTF8.self)
        let data = Array(payload.drop { $0 != 0x20 }.drop { $0 == 0x20 })
        guard OutOfBand.isName(name), data.isEmpty || JSONReader.isValid(data[...]) else { return nil }
        return .gmcp(name: name, data: data)
    }
}
