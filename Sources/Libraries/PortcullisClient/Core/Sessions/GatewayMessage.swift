/// What a message of the gateway means, whatever its dialect is.
enum GatewayMessage: Sendable {
    /// - Parameter count: the bytes that the gateway has counted so far, in dialects that count bytes.
    case session(SessionIdentity, count: UInt64?, isResumed: Bool, isResumable: Bool)
    case content(SessionContent, Numbering)
    /// These messages, or this many bytes, won't come.
    case gap(upTo: UInt64?, bytes: UInt64?)
    case inputConfirmed(UInt64)
    case error(code: String, message: String, input: UInt64?)
    /// The gateway is about to close.
    case draining(seconds: Double)
    /// The service has ended the session.
    case ended
    /// It has no meaning here, for instance because a later version has added it.
    case nothing

    /// Where a message stands among those of its session.
    struct Numbering: Sendable {
        /// In dialects that number messages.
        var sequence: UInt64?
        var isReplayed = false
        /// In dialects that count bytes: whether this message counts.
        var isCounted = true

        /// A message that the gateway itself has added.
        static let ofTheGateway = Numbering(isCounted: false)
    }
}

/// What the service has sent.
enum SessionContent: Sendable {
    case output([UInt8])
    case prompt
    case gmcp(name: String, json: [UInt8]?)
    case echo(isSuppressed: Bool)
}

/// What a client presents to resume a session.
struct SessionIdentity: Sendable {
    static let maximumBytes = 256

    let id: String
    let token: String

    /// - Returns: nil for texts that can't be put into a query as they are.
    init?(id: String?, token: String?) {
        guard let id, let token, Self.isWord(id), Self.isWord(token) else { return nil }
        (self.id, self.token) = (id, token)
    }

    private static func isWord(_ text: String) -> Bool {
        (1...maximumBytes).contains(text.utf8.count)
            && text.utf8.allSatisfy { $0.isASCIILetterOrDigit || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_") }
    }
}

/// A message of the gateway that can't be read.
struct MessageFault: Error, Sendable {
    let fault: AnswerFault
    /// It counts among the session's messages all the same.
    var numbering = GatewayMessage.Numbering()
}

/// Names of GMCP messages.
enum GMCPName {
    static let maximumBytes = 128

    static func isValid(_ name: String) -> Bool {
        (1...maximumBytes).contains(name.utf8.count) && name.utf8.allSatisfy(\.isVisibleASCII)
    }

    /// The gateway's own messages.
    static func isOwn(_ name: String) -> Bool {
        name.isSameIgnoringCase(as: "Portcullis")
            || name.utf8.prefix(11).map(\.lowercasedASCII).elementsEqual("portcullis.".utf8)
    }
}
