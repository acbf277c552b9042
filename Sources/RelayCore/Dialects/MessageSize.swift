/// The three size limits of a client's message. `MAX_MESSAGE_BYTES` limits the content: text and data without escapes and names, or
/// the payload itself in dialects without JSON.
package enum MessageSize {
    /// Escapes make text longer: by at most a factor of three for a character outside ASCII.
    static let escaping = 3
    /// Everything besides the text: names, braces and a number.
    static let envelopeBytes = 1_024
    /// Messages up to this factor are read to their end, so that they can be answered. Longer ones close the connection with 1009.
    static let answering = 16

    /// The most bytes assembled from a message in pieces.
    static func gathered(_ maximum: Int) -> Int { escaping * maximum + envelopeBytes }

    /// The most bytes of a message on the wire.
    package static func onTheWire(_ maximum: Int) -> Int { answering * maximum + envelopeBytes }
}
