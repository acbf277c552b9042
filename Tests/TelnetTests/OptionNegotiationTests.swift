import Testing

@testable import Telnet

@Suite struct OptionNegotiationTests {
    typealias Step = OptionNegotiation.Step

    @Test func `a password prompt turns echo on and off`() {
        var options = OptionNegotiation()
        #expect(options.turnOn(.echo, .local) == Step(reply: .will, change: nil, side: .local))
        #expect(options.received(.do, .echo) == Step(reply: nil, change: true, side: .local))
        #expect(options.isOn(.echo, .local))
        #expect(options.turnOff(.echo, .local) == Step(reply: .wont, change: false, side: .local))
        #expect(options.received(.dont, .echo) == Step(reply: nil, change: nil, side: .local))
        #expect(!options.isOn(.echo, .local))
    }

    @Test func `a request during an exchange waits for its end`() {
        var options = OptionNegotiation()
        #expect(options.turnOn(.echo, .local).reply == .will)
        #expect(options.turnOff(.echo, .local).reply == nil)
        #expect(options.received(.do, .echo).reply == .wont)
        #expect(options.turnOn(.echo, .local).reply == nil)
        #expect(options.received(.dont, .echo).reply == .will)
        #expect(options.received(.do, .echo) == Step(reply: nil, change: true, side: .local))
    }

    @Test func `accepted options are agreed on the right side only`() {
        var options = OptionNegotiation(acceptingLocal: [.gmcp], remote: [.windowSize])
        #expect(options.received(.do, .gmcp) == Step(reply: .will, change: true, side: .local))
        #expect(options.received(.will, .windowSize) == Step(reply: .do, change: true, side: .remote))
        #expect(options.received(.will, .gmcp).reply == .dont)
        #expect(options.received(.do, .windowSize).reply == .wont)
        #expect(options.isOn(.gmcp, .local) && !options.isOn(.gmcp, .remote))
        // A confirmation of the current state gets no answer.
        #expect(options.received(.do, .gmcp) == Step(reply: nil, change: nil, side: .local))
        #expect(options.received(.wont, .windowSize) == Step(reply: .dont, change: false, side: .remote))
    }

    @Test func `each unknown option is refused once per side`() {
        var options = OptionNegotiation()
        var answers = 0
        for _ in 0..<5 {
            for number in UInt8.min...UInt8.max {
                for verb in TelnetVerb.allCases {
                    answers += options.received(verb, TelnetOption(rawValue: number)).reply == nil ? 0 : 1
                }
            }
        }
        #expect(answers == 512)
    }

    @Test func `an option refused once can still be turned on by us`() {
        var options = OptionNegotiation()
        #expect(options.received(.do, .echo).reply == .wont)
        #expect(options.turnOn(.echo, .local).reply == .will)
        #expect(options.received(.do, .echo).change == true)
    }

    @Test func `a request answered by silence is answered by agreeing`() {
        var options = OptionNegotiation()
        #expect(options.received(.do, .echo).reply == .wont)
        #expect(options.received(.do, .echo).reply == nil)
        #expect(options.turnOn(.echo, .local) == Step(reply: .will, change: true, side: .local))
        // Unless the peer has withdrawn its request: then we send a new request.
        #expect(options.received(.will, .echo).reply == .dont)
        #expect(options.received(.will, .echo).reply == nil)
        #expect(options.received(.wont, .echo).reply == nil)
        #expect(options.turnOn(.echo, .remote) == Step(reply: .do, change: nil, side: .remote))
    }

    /// Two negotiations talk over lines with delays, while both change their minds at random.
    @Test(arguments: 0..<50 as Range<UInt64>)
    func `two ends settle in agreement`(seed: UInt64) {
        var random = SeededGenerator(state: seed)
        let choices: [Set<TelnetOption>] = [[], [.echo], [.echo, .gmcp]]
        var ends = (0..<2).map { _ in
            OptionNegotiation(
                acceptingLocal: choices.randomElement(using: &random) ?? [],
                remote: choices.randomElement(using: &random) ?? [])
        }
        /// Messages in flight to each end.
        var lines: [[(TelnetVerb, TelnetOption)]] = [[], []]
        var wishes = 0
        var messages = 0
        func say(_ step: Step, _ option: TelnetOption, from end: Int) {
            guard let verb = step.reply else { return }
            messages += 1
            lines[1 - end].append((verb, option))
        }
        while wishes < 200 || !lines.allSatisfy(\.isEmpty) {
            let end = Int.random(in: 0...1, using: &random)
            let option = Bool.random(using: &random) ? TelnetOption.echo : .gmcp
            let side = Bool.random(using: &random) ? OptionNegotiation.Side.local : .remote
            if wishes < 200, Bool.random(using: &random) {
                wishes += 1
                let isOnWish = Bool.random(using: &random)
                say(isOnWish ? ends[end].turnOn(option, side) : ends[end].turnOff(option, side), option, from: end)
            } else if !lines[end].isEmpty {
                let (verb, option) = lines[end].removeFirst()
                say(ends[end].received(verb, option), option, from: end)
            }
            // Each wish costs at most a request and its answer, and as many again if it had to wait.
            guard messages <= wishes * 4 else { break }
        }
        #expect(messages <= wishes * 4)
        for option in [TelnetOption.echo, .gmcp] {
            #expect(ends[0].isOn(option, .local) == ends[1].isOn(option, .remote))
            #expect(ends[0].isOn(option, .remote) == ends[1].isOn(option, .local))
        }
    }
}
