import ArgumentParser
import GatewayServer
import Glibc
import OperatorTools

struct TopCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "top", abstract: "Watch the running gateway: sessions, rates, refusals.",
        discussion: "Keys: q quits, s changes the order of the sessions, p pauses.")

    @OptionGroup var gateway: SessionsCommand.Gateway

    @Option(help: "Seconds between two frames.")
    var interval = 2

    @Flag(help: "Print one frame as plain text, 80 columns wide, and end.")
    var once = false

    func validate() throws {
        guard (1...60).contains(interval) else { throw ValidationError("--interval is a number from 1 to 60.") }
    }

    func run() throws {
        guard !once else { return try printOnce() }
        guard isatty(STDIN_FILENO) == 1, isatty(STDOUT_FILENO) == 1, let terminal = Terminal() else {
            throw Console.failure("top needs a terminal", hint: "top --once prints one frame as plain text.")
        }
        try gateway.ask { tool throws(SessionToolError) in
            // Before an error is printed.
            defer { terminal.restore() }
            var watch = TopWatch(terminal, TopSampler(tool), milliseconds: Int32(interval) * 1_000)
            try watch.run()
        }
    }

    /// Two samples, so that there are rates.
    private func printOnce() throws {
        let sample = try gateway.ask { tool throws(SessionToolError) in
            var sampler = TopSampler(tool)
            _ = try sampler.take(.rate)
            usleep(1_000_000)
            return try sampler.take(.rate)
        }
        let (columns, rows) = TopFrame.plainSize
        for line in TopFrame(sample, sort: .rate).lines(columns: columns, rows: rows).dropLast() { Console.say(line) }
    }
}

/// The loop of the live screen: a frame, then keys, signals and the size of the terminal until the next.
private struct TopWatch {
    private let terminal: Terminal
    private var sampler: TopSampler
    private let milliseconds: Int32
    private var sort = TopFrame.Sort.rate
    private var isPaused = false

    init(_ terminal: Terminal, _ sampler: TopSampler, milliseconds: Int32) {
        self.terminal = terminal
        self.sampler = sampler
        self.milliseconds = milliseconds
    }

    mutating func run() throws(SessionToolError) {
        _ = try sampler.take(sort)
        while true {
            draw()
            switch terminal.wait(milliseconds: milliseconds) {
            case .quit: return
            case .key(UInt8(ascii: "q")), .key(3), .key(4): return
            case .key(UInt8(ascii: "s")):
                sort = sort.next
                if !isPaused { _ = try sampler.take(sort) }
            case .key(UInt8(ascii: "p")): isPaused.toggle()
            case .key, .resized: continue
            case .time: if !isPaused { _ = try sampler.take(sort) }
            }
        }
    }

    private func draw() {
        guard let sample = sampler.sample else { return }
        let (columns, rows) = terminal.size
        terminal.show(
            TopFrame(sample, sort: sort, note: isPaused ? "paused" : "").lines(columns: columns, rows: rows))
    }
}
