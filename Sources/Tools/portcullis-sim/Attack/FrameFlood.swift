import ArgumentParser

/// What the connections of the kind `frames` send without end, masked with 0 (RFC 6455 §5.3).
enum FrameFlood: String, CaseIterable, ExpressibleByArgument, Sendable {
    /// Small messages, empty ones, fragments and pings.
    case mixed
    /// A message of which each fragment has one octet.
    case fragments
    /// Messages of empty fragments.
    case empty
    case pings
    case pongs
    /// Compressed messages that are empty.
    case deflated
    /// Compressed messages of which each fragment inflates to nothing.
    case blocks
    /// Telnet negotiations in binary messages.
    case telnet

    /// permessage-deflate must be agreed on (RFC 7692).
    var isCompressed: Bool { self == .deflated || self == .blocks }

    /// Whole messages, as often as they are sent.
    var frames: [UInt8] { Self.all[self] ?? [] }

    private static let all = Dictionary(uniqueKeysWithValues: allCases.map { ($0, made($0)) })

    private static func made(_ flood: FrameFlood) -> [UInt8] {
        switch flood {
        case .mixed:
            repeated(500, frame(0x82, [0x78]) + frame(0x89) + frame(0x02) + frame(0x80, [0x79]) + frame(0x82, [0x78]))
        case .fragments: message(of: 10_000, [0x78])
        case .empty: repeated(500, message(of: 16, []))
        case .pings: repeated(5_000, frame(0x89))
        case .pongs: repeated(5_000, frame(0x8A))
        case .deflated: repeated(5_000, frame(0xC2, [0]))
        // Empty stored blocks, and the end of an empty message.
        case .blocks: message(of: 10_000, [0, 0, 0, 0xFF, 0xFF], compressed: true)
        case .telnet: repeated(100, frame(0x82, repeated(30, [255, 251, 1, 255, 252, 1])))
        }
    }

    private static func frame(_ first: UInt8, _ payload: [UInt8] = []) -> [UInt8] {
        let length =
            payload.count < 126
            ? [0x80 | UInt8(payload.count)] : [0xFE, UInt8(payload.count >> 8), UInt8(payload.count & 0xFF)]
        return [first] + length + [0, 0, 0, 0] + payload
    }

    /// A message of `count` equal fragments.
    private static func message(of count: Int, _ payload: [UInt8], compressed isCompressed: Bool = false) -> [UInt8] {
        frame(isCompressed ? 0x42 : 0x02, payload) + repeated(count - 2, frame(0x00, payload))
            + frame(0x80, isCompressed ? [0] : payload)
    }

    private static func repeated(_ count: Int, _ bytes: [UInt8]) -> [UInt8] {
        Array(repeatElement(bytes, count: count).joined())
    }
}

/// What a hostile MUD sends without end (RFC 854).
enum TargetFlood: String, CaseIterable, ExpressibleByArgument, Sendable {
    /// Requests for every option, accepted and withdrawn in turn: as many as possible must be answered.
    case negotiations
    /// Prompts, with GA and EOR, with and without text.
    case prompts
    /// NOPs and undefined commands.
    case nops
    /// Small subnegotiations: GMCP, MSDP, and questions that are answered.
    case packages
    /// MSDP variables whose names are the text that takes longest to normalise.
    case names

    /// - Parameter round: the first one makes the gateway agree to the options.
    func bytes(round: Int) -> [UInt8] {
        switch self {
        case .negotiations: Self.requests
        case .prompts: Self.repeated(4_000, [255, 249, 0x78, 255, 249, 255, 239])
        case .nops: Self.repeated(8_000, [255, 241, 255, 200])
        case .packages: (round == 0 ? Self.agreement : []) + Self.subnegotiations
        case .names: (round == 0 ? Self.agreement : []) + Self.variables
        }
    }

    private static let requests: [UInt8] = {
        let options = [1, 3, 24, 25, 31, 39, 42, 69, 70, 201, 200] + Array(100..<120) as [UInt8]
        var bytes: [UInt8] = []
        for option in options {
            for verb in [251, 252, 253, 254] as [UInt8] { bytes += [255, verb, option] }
        }
        return repeated(64, bytes)
    }()

    private static let agreement: [UInt8] = [255, 251, 201, 255, 251, 69, 255, 253, 24, 255, 253, 39]

    private static let subnegotiations: [UInt8] = {
        let gmcp = [255, 250, 201, 0x61, 0x20, 0x31, 255, 240] as [UInt8]
        let msdp = [255, 250, 69, 1, 0x61, 2, 0x62, 255, 240] as [UInt8]
        let questions = [255, 250, 24, 1, 255, 240, 255, 250, 39, 1, 255, 240] as [UInt8]
        return repeated(1_000, gmcp + msdp + questions)
    }()

    /// Names of about 1,000 octets that differ at their ends.
    private static let variables: [UInt8] = {
        let name = Array(AttackTexts.marks(996).utf8)
        let (begin, end) = ([255, 250, 69, 1], [2, 0x62, 255, 240]) as ([UInt8], [UInt8])
        return (0..<64).flatMap { begin + name + Array(String($0).utf8) + end }
    }()

    private static func repeated(_ count: Int, _ bytes: [UInt8]) -> [UInt8] {
        Array(repeatElement(bytes, count: count).joined())
    }
}
