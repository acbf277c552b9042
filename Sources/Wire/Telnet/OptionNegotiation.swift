/// The options of one connection, both sides, by the Q method of RFC 1143: no loops, no double answers.
///
/// It decides and remembers; the caller sends. It refuses each option that isn't accepted once per side and connection
/// and ignores repeated requests, so a storm of requests for unknown options costs at most 512 answers.
package struct OptionNegotiation: Codable, Sendable {
    /// The side that uses the option.
    package enum Side: Hashable, Sendable {
        /// Ours: WILL and WONT go out, DO and DONT come in.
        case local
        /// The peer's: DO and DONT go out, WILL and WONT come in.
        case remote
    }

    /// The result of one step.
    package struct Step: Hashable, Sendable {
        /// To be sent for the option of this step.
        package let reply: TelnetVerb?
        /// Whether the option came into force (true) or ended (false); nil: no change.
        package let change: Bool?
        package let side: Side
    }

    private var local: Options
    private var remote: Options

    private struct Options: Codable {
        let accepted: Set<TelnetOption>
        /// Indexed by option; a missing option is off.
        private var states: [TelnetOption: OptionState] = [:]
        private var refused: Set<TelnetOption> = []
        /// Requests that were not answered. The peer may still be waiting; it takes the next `yes` as its answer.
        private var unanswered: Set<TelnetOption> = []

        init(accepted: Set<TelnetOption>) {
            self.accepted = accepted
        }

        subscript(option: TelnetOption) -> OptionState {
            get { states[option] ?? .off }
            set { states[option] = newValue }
        }

        mutating func receivedYes(_ option: TelnetOption) -> OptionState.Word? {
            let wasOff = self[option] == .off
            let word = self[option].receivedYes(accepts: accepted.contains(option))
            guard wasOff, word == .no, !refused.insert(option).inserted else { return word }
            unanswered.insert(option)
            return nil
        }

        mutating func receivedNo(_ option: TelnetOption) -> OptionState.Word? {
            unanswered.remove(option)
            return self[option].receivedNo()
        }

        mutating func turnOn(_ option: TelnetOption) -> OptionState.Word? {
            guard unanswered.remove(option) != nil else { return self[option].turnOn() }
            self[option] = .on
            return .yes
        }
    }

    /// - Parameters:
    ///   - local: options that we use when the peer asks for them with DO.
    ///   - remote: options that the peer may use when it offers them with WILL.
    package init(acceptingLocal local: Set<TelnetOption> = [], remote: Set<TelnetOption> = []) {
        self.local = Options(accepted: local)
        self.remote = Options(accepted: remote)
    }

    /// Whether the option is in force: offered and agreed, and not being ended.
    package func isOn(_ option: TelnetOption, _ side: Side) -> Bool {
        (side == .local ? local : remote)[option] == .on
    }

    /// The peer has sent `verb`.
    package mutating func received(_ verb: TelnetVerb, _ option: TelnetOption) -> Step {
        switch verb {
        case .will: step(.remote, option) { $0.receivedYes(option) }
        case .wont: step(.remote, option) { $0.receivedNo(option) }
        case .do: step(.local, option) { $0.receivedYes(option) }
        case .dont: step(.local, option) { $0.receivedNo(option) }
        }
    }

    /// We want the option on, whether or not it is among the accepted ones.
    package mutating func turnOn(_ option: TelnetOption, _ side: Side) -> Step {
        step(side, option) { $0.turnOn(option) }
    }

    /// We want the option off. It is out of force at once, even before the peer answers.
    package mutating func turnOff(_ option: TelnetOption, _ side: Side) -> Step {
        step(side, option) { $0[option].turnOff() }
    }

    private mutating func step(
        _ side: Side, _ option: TelnetOption, _ body: (inout Options) -> OptionState.Word?
    ) -> Step {
        let wasOn = isOn(option, side)
        let word = side == .local ? body(&local) : body(&remote)
        let isOn = isOn(option, side)
        let reply = word.map { word -> TelnetVerb in
            switch (side, word) {
            case (.local, .yes): .will
            case (.local, .no): .wont
            case (.remote, .yes): .do
            case (.remote, .no): .dont
            }
        }
        return Step(reply: reply, change: wasOn == isOn ? nil : isOn, side: side)
    }
}
