/// A status code that may be sent in a Close frame (RFC 6455 §7.4). Other codes can't be represented: those below 1000, 1004, 1005, 1006
/// and 1015 (§7.4.1), the unassigned ones up to 2999, and those from 5000 on (§7.4.2).
package struct CloseCode: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt16

    package init?(rawValue: UInt16) {
        switch rawValue {
        // 1012 to 1014 were registered with IANA after the RFC.
        case 1000...1003, 1007...1014, 3000...4999: self.rawValue = rawValue
        default: return nil
        }
    }

    private init(known rawValue: UInt16) { self.rawValue = rawValue }

    package static let normal = CloseCode(known: 1000)
    package static let goingAway = CloseCode(known: 1001)
    package static let protocolError = CloseCode(known: 1002)
    package static let invalidPayload = CloseCode(known: 1007)
    package static let policyViolation = CloseCode(known: 1008)
    package static let messageTooBig = CloseCode(known: 1009)
    package static let internalError = CloseCode(known: 1011)
}
