import CLibFuzzer
import Dispatch
import Glibc

/// `portcullis-fuzz --list` names the targets; `portcullis-fuzz NAME ARGUMENT…` runs one of them under libFuzzer, which
/// takes the arguments. One target a process: so coverage is that target's.
@main
struct FuzzDriver {
    /// Set once, before libFuzzer begins, which calls back on this thread alone.
    nonisolated(unsafe) private static var target = FuzzTarget.all[0]

    static func main() {
        let words = CommandLine.arguments.dropFirst()
        guard words.first != "--list" else { return FuzzTarget.all.forEach { print($0.name) } }
        guard let chosen = FuzzTarget.all.first(where: { $0.name == words.first }) else {
            let message = "portcullis-fuzz: error: name a target; --list names them all\n"
            _ = message.withCString { write(STDERR_FILENO, $0, message.utf8.count) }
            exit(EX_USAGE)
        }
        target = chosen
        exit(run([CommandLine.arguments[0]] + words.dropFirst()))
    }

    private static func run(_ arguments: [String]) -> CInt {
        // libFuzzer keeps them for as long as the process lives.
        var pointers = arguments.map { strdup($0) } + [nil]
        var count = CInt(arguments.count)
        return pointers.withUnsafeMutableBufferPointer { buffer in
            var base = buffer.baseAddress
            return LLVMFuzzerRunDriver(&count, &base) { bytes, count in
                FuzzDriver.check(Array(UnsafeBufferPointer(start: bytes, count: count)))
                return 0
            }
        }
    }

    /// A violation ends the process, which is how libFuzzer knows a finding.
    private static func check(_ bytes: [UInt8]) {
        do {
            switch target.check {
            case .immediate(let check): try check(bytes)
            case .awaiting(let check): try waiting { try await check(bytes) }
            }
        } catch {
            fatalError("\(target.name): \(error)")
        }
    }

    private static func waiting(for body: @escaping @Sendable () async throws -> Void) throws {
        nonisolated(unsafe) var outcome: Result<Void, any Error> = .success(())
        let done = DispatchSemaphore(value: 0)
        Task.detached {
            do { try await body() } catch { outcome = .failure(error) }
            done.signal()
        }
        done.wait()
        try outcome.get()
    }
}
