import Foundation

/// A child process's output so far, and its exit.
package struct ChildOutput: Sendable {
    package enum Ending: Sendable, Equatable {
        case exited(Int32)
        case signalled(Int32)
    }

    package var standardOutput: [UInt8] = []
    package var standardError: [UInt8] = []
    package var ending: Ending?
    var openPipes = 2

    package var outputText: String { String(decoding: standardOutput, as: UTF8.self) }
    package var errorText: String { String(decoding: standardError, as: UTF8.self) }
    package var outputLines: [String] { outputText.split(separator: "\n").map(String.init) }
    package var errorLines: [String] { errorText.split(separator: "\n").map(String.init) }
    /// The process has ended, and both of its pipes were read to the end.
    package var isComplete: Bool { ending != nil && openPipes == 0 }
}

extension ChildOutput: CustomStringConvertible {
    package var description: String {
        "ending: \(ending.map { "\($0)" } ?? "running")\nstdout: \(outputText.suffix(3000))\nstderr: \(errorText.suffix(6000))"
    }
}

/// A program that runs beside the test, with all of its output collected.
package final class ChildProcess: Sendable {
    package let output: Awaited<ChildOutput>
    package let processID: Int32
    private let input: FileHandle

    /// - Parameter environment: the whole environment of the child; nothing is inherited.
    package init(
        _ program: String, _ arguments: [String], environment: [String: String] = ChildProcess.plainEnvironment,
        directory: String? = nil
    ) throws {
        let output = Awaited(ChildOutput())
        let (standardOutput, standardError, standardInput) = (Pipe(), Pipe(), Pipe())
        let process = try Spawn.start(
            program, arguments, environment: environment, directory: directory,
            files: (
                standardInput.fileHandleForReading.fileDescriptor, standardOutput.fileHandleForWriting.fileDescriptor,
                standardError.fileHandleForWriting.fileDescriptor
            ))
        // Otherwise the pipes wouldn't end with the child.
        try standardInput.fileHandleForReading.close()
        try standardOutput.fileHandleForWriting.close()
        try standardError.fileHandleForWriting.close()
        collect(standardOutput, into: output) { $0.standardOutput += $1 }
        collect(standardError, into: output) { $0.standardError += $1 }
        LivingProcesses.add(process)
        Thread.detachNewThread {
            let ending = Spawn.end(of: process)
            LivingProcesses.remove(process)
            output.update { $0.ending = ending }
        }
        self.output = output
        processID = process
        input = standardInput.fileHandleForWriting
    }

    /// With TMPDIR, by which `scripts/test` finds what is left behind.
    package static let plainEnvironment = {
        let own = ProcessInfo.processInfo.environment
        var plain = ["PATH": own["PATH"] ?? "/usr/bin:/bin", "LC_ALL": "C.UTF-8"]
        plain["TMPDIR"] = own["TMPDIR"]
        return plain
    }()

    package func write(_ text: String) throws {
        try input.write(contentsOf: Data(text.utf8))
    }

    package func closeInput() throws {
        try input.close()
    }

    package func signal(_ number: Int32) {
        if output.current.ending == nil { _ = kill(processID, number) }
    }

    /// Waits for the end; returns the complete output.
    @discardableResult
    package func ended(within limit: Duration = .seconds(20)) async throws -> ChildOutput {
        try await output.wait(for: "the end of process \(processID)", within: limit) { $0.isComplete ? $0 : nil }
    }

    /// Runs a program to its end.
    package static func run(
        _ program: String, _ arguments: [String], environment: [String: String] = plainEnvironment,
        directory: String? = nil, input: String = "", within limit: Duration = .seconds(30)
    ) async throws -> ChildOutput {
        let path = program.hasPrefix("/") ? program : try executable(program)
        let child = try ChildProcess(path, arguments, environment: environment, directory: directory)
        if !input.isEmpty { try child.write(input) }
        try child.closeInput()
        do {
            return try await child.ended(within: limit)
        } catch {
            child.signal(SIGKILL)
            throw error
        }
    }

    /// Like `run`, but an exit status other than 0 is an error with the program's output.
    @discardableResult
    package static func check(
        _ program: String, _ arguments: [String], directory: String? = nil, input: String = ""
    ) async throws -> ChildOutput {
        let result = try await run(program, arguments, directory: directory, input: input)
        guard result.ending == .exited(0) else {
            throw EdgeTestError("\(program) \(arguments.joined(separator: " ")): \(result)")
        }
        return result
    }

    /// The full path of a program in the search path.
    package static func executable(_ name: String) throws -> String {
        let folders = (plainEnvironment["PATH"] ?? "").split(separator: ":")
        guard let folder = folders.first(where: { FileManager.default.isExecutableFile(atPath: "\($0)/\(name)") })
        else { throw EdgeTestError("\(name) isn't installed") }
        return "\(folder)/\(name)"
    }
}

/// Reads a pipe to its end on its own thread. (A `readabilityHandler` occasionally misses the end.)
private func collect(
    _ pipe: Pipe, into output: Awaited<ChildOutput>, append: @escaping @Sendable (inout ChildOutput, [UInt8]) -> Void
) {
    let handle = pipe.fileHandleForReading
    Thread.detachNewThread {
        var bytes = [UInt8](handle.availableData)
        while !bytes.isEmpty {
            let piece = bytes
            output.update { append(&$0, piece) }
            bytes = [UInt8](handle.availableData)
        }
        output.update { $0.openPipes -= 1 }
    }
}
