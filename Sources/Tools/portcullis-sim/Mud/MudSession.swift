import FoundationEssentials

/// One connection from login to logout: its terminal and the state of its login.
///
/// The session decides nothing that depends on other players. It passes requests to ``DemoMud``, which answers through
/// ``enter()`` or ``refuse(_:)``.
struct MudSession: Sendable {
    enum Request: Hashable, Sendable {
        case logIn(name: String, password: String)
        case perform(PlayerCommand)
        /// GMCP came into force during play: the current state must be sent.
        case describe
    }

    private enum Phase {
        case naming
        case password(name: String)
        case playing
    }

    private let limits: MudLimits
    private var terminal: MudTerminal
    private var phase = Phase.naming
    private var wrongPasswords = 0
    private var hello = CoreHello()
    /// The cursor is behind a prompt: output must start on a new line.
    private var isBehindPrompt = false
    private var needsPrompt = true

    init(limits: MudLimits) {
        self.limits = limits
        terminal = MudTerminal(limits: limits)
        terminal.open()
        print(MudLine(.title, "Portcullis demo MUD"))
        print(
            MudLine(.plain, "A small castle for trying out gateways. Names and passwords live as long as the server."))
    }

    // MARK: In

    /// Feeds the terminal. The caller must pass the inputs back one by one to ``handle(_:)``.
    mutating func receive(_ bytes: [UInt8]) -> [MudTerminal.Input] {
        terminal.receive(bytes)
    }

    mutating func handle(_ input: MudTerminal.Input) -> Request? {
        switch input {
        case .line(let line):
            isBehindPrompt = false
            needsPrompt = true
            return handle(line: line)
        case .lineTooLong:
            isBehindPrompt = false
            print(MudLine(.notice, "That line was too long, and nobody has heard it."))
            return nil
        case .gmcpBegins:
            send(GMCPMessage("Core.Hello", CoreHello(server: "Portcullis demo MUD", version: "1")))
            if case .playing = phase { return .describe }
            return nil
        case .gmcp(let package, let json):
            handleGMCP(package.lowercased(), json)
            return nil
        }
    }

    private mutating func handle(line: String) -> Request? {
        switch phase {
        case .naming:
            choose(name: line.trimmed)
            return nil
        case .password(let name):
            // The client hasn't echoed the line end either.
            terminal.write("\n")
            guard (1...limits.maximumPasswordBytes).contains(line.utf8.count) else {
                print(MudLine(.notice, "A password has 1 to \(limits.maximumPasswordBytes) bytes."))
                return nil
            }
            return .logIn(name: name, password: line)
        case .playing:
            return .perform(PlayerCommand(line))
        }
    }

    /// ASCII letters only, with one form for each name: no two players have names that look alike.
    private mutating func choose(name: String) {
        let isName = name.utf8.allSatisfy { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0 | 0x20) }
        guard isName, (2...limits.maximumNameLength).contains(name.utf8.count) else {
            print(MudLine(.notice, "A name has 2 to \(limits.maximumNameLength) letters, a to z."))
            return
        }
        phase = .password(name: name.prefix(1).uppercased() + name.dropFirst().lowercased())
        terminal.hideInput()
    }

    private mutating func handleGMCP(_ package: String, _ json: [UInt8]) {
        switch package {
        case "core.ping": send(.ping)
        case "core.hello": hello = (try? JSONDecoder().decode(CoreHello.self, from: Data(json))) ?? hello
        default: break
        }
    }

    // MARK: The answers to requests

    mutating func enter() {
        phase = .playing
        terminal.showInput()
    }

    /// Returns whether the player may try again.
    mutating func refuse(_ answer: Accounts.Answer) -> Bool {
        if answer == .full {
            print(MudLine(.notice, "There is no room for another name."))
            return false
        }
        wrongPasswords += 1
        guard wrongPasswords < limits.maximumPasswordAttempts else {
            print(MudLine(.notice, "That was wrong once too often."))
            return false
        }
        print(MudLine(.notice, "That is not the password of this name."))
        return true
    }

    // MARK: Out

    mutating func print(_ line: MudLine) {
        if isBehindPrompt { terminal.write("\n") }
        isBehindPrompt = false
        needsPrompt = true
        terminal.print(line)
    }

    mutating func send(_ message: GMCPMessage?) {
        if let message { terminal.send(message) }
    }

    /// The output at the end of a turn, with a prompt at its end if one is due.
    mutating func takeOutput(isLast: Bool) -> [UInt8] {
        if needsPrompt && !isLast {
            terminal.prompt(promptText)
            isBehindPrompt = true
            needsPrompt = false
        }
        return terminal.takeOutput()
    }

    private var promptText: String {
        switch phase {
        case .naming: "By what name are you known? "
        case .password: "Password (a new name takes any): "
        case .playing: "> "
        }
    }

    /// The client's description: its name, version and window, as far as they are known.
    var clientDescription: String {
        let name = [hello.client ?? terminal.terminalTypes.first, hello.version].compactMap(\.self).joined(
            separator: " ")
        let window = terminal.windowSize.map { "\($0.columns)×\($0.rows)" }
        let shownName = String(name.withoutControls.prefix(limits.maximumClientNameLength))
        return ([shownName].filter { !$0.isEmpty } + [window].compactMap(\.self)).joined(separator: ", ")
    }
}
