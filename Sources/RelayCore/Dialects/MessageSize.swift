/// How large a client's message may be, in three steps. `MAX_MESSAGE_BYTES` is what it says to the gateway: text and data once escapes and
/// names are taken away, and in dialects without JSON the payload itself.
package enum MessageSize {
    /// Escapes make a text longer: those of a character outside ASCII three times.
    static let escaping = 3
    /// Beside the text: names, braces and a number.
    static let envelopeBytes = 1_024
    /// Messages up to here are read to their end, so that they can be answered. Beyond it the connection closes with 1009.
    static let answering = 16

    /// What is gathered of a message in pieces.
    static func gathered(_ maximum: Int) -> Int { escaping * maximum + envelopeBytes }

    /// What a message may have on the wire.
    package static func onTheWire(_ maximum: Int) -> Int { answering * maximum + envelopeBytes }
}
