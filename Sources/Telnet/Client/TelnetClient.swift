/// The client's end of one telnet connection: a network virtual terminal (RFC 854) with the options of MUD clients.
///
/// It is pulled: ``next(_:now:)`` takes one event off the front of the target's bytes. A caller can so stop after any event,
/// while its own peer is slow, and go on later with the rest of that buffer.
package struct TelnetClient {
    /// The longest ``TargetEvent/text(_:)``.
    package static let maximumTextBytes = 16_384

    private var settings: TelnetClientSettings
    private var parser: TelnetParser
    private var encoder = TelnetEncoder()
    private var negotiation = OptionNegotiation(acceptingLocal: [], remote: [.echo, .endOfRecord, .suppressGoAhead])
    private var replies: [UInt8] = []
    package private(set) var failure: TelnetFailure?
    /// Bytes of the target lie inside and wait for ``next(_:now:)``, even if there is no input.
    package var holdsBytes: Bool { false }

    package init(settings: TelnetClientSettings, makeDecompressor: (@Sendable () -> any Decompressor)? = nil) {
        self.settings = settings
        parser = TelnetParser(maximumSubnegotiationBytes: settings.maximumSubnegotiationBytes)
    }

    package mutating func next(_ input: inout ArraySlice<UInt8>, now: UInt64) -> TargetEvent? {
        while let event = parser.next(&input) {
            switch event {
            case .data(let run): return .text(Array(run))
            case .command(.goAhead), .command(.endOfRecord): return .prompt
            case .command, .subnegotiation, .droppedSubnegotiation: continue
            case .negotiation(let verb, let option):
                let step = negotiation.received(verb, option)
                if let reply = step.reply { TelnetEncoder.appendNegotiation(reply, option, to: &replies) }
                if option == .echo, let isOn = step.change { return .echo(isSuppressed: isOn) }
            }
        }
        return nil
    }

    package mutating func finish() -> TargetEvent? { nil }

    package mutating func takeReplies() -> [UInt8] {
        defer { replies = [] }
        return replies
    }

    package mutating func appendInput(_ text: ArraySlice<UInt8>, to output: inout [UInt8]) {
        encoder.appendText(text, to: &output)
    }

    package mutating func appendGMCP(name: String, data: [UInt8], to output: inout [UInt8]) -> Bool { false }

    package mutating func appendMSDP(name: String, value: MSDPValue, to output: inout [UInt8]) -> Bool { false }

    package mutating func resize(columns: UInt16, rows: UInt16) {
        settings.columns = columns
        settings.rows = rows
    }

    package mutating func describe(clientName: String?, version: String?, terminalType: String?) {}

    package mutating func keepAlive(to output: inout [UInt8]) {
        TelnetEncoder.appendCommand(.noOperation, to: &output)
    }
}
