import Foundation
import Glibc

/// A measured server, or the target behind it: started and listening.
final class Server {
    let port: UInt16
    let process: SpawnedProcess
    /// The load's arguments for this server.
    let loadArguments: [String]

    /// - Parameters:
    ///   - arguments: they include its port.
    ///   - slot: the name of its files in the folder.
    init(
        _ name: String, program: String, arguments: [String], environment: [String: String] = [:], port: UInt16,
        cores: [Int], folder: String, loadArguments: [String] = []
    ) throws {
        self.port = port
        self.loadArguments = loadArguments
        process = try SpawnedProcess(
            program, arguments, cores: cores, environment: environment, output: "\(folder)/\(name).out",
            log: "\(folder)/\(name).log")
        guard awaitListening() else {
            let log = (try? String(contentsOfFile: "\(folder)/\(name).log", encoding: .utf8)) ?? ""
            process.end()
            throw SimOutput.failure("\(name) did not start.", hint: "its log ends with: \(log.suffix(500))")
        }
    }

    deinit { process.end() }

    var residentBytes: UInt64? { ProcessTree(root: process.pid)?.usage?.residentBytes }

    private func awaitListening() -> Bool {
        let deadline = Date(timeIntervalSinceNow: 15)
        while Date() < deadline, process.exitCode == nil {
            if LoopbackPort.answers(port) { return true }
            usleep(50_000)
        }
        return false
    }
}

/// Ports of 127.0.0.1.
enum LoopbackPort {
    /// A port that is free now.
    static func free() throws -> UInt16 {
        let file = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(file) }
        var address = loopback(port: 0)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(file, $0, length) == 0 && getsockname(file, $0, &length) == 0
            }
        }
        guard isBound else { throw SimOutput.failure("there is no free port.") }
        return UInt16(bigEndian: address.sin_port)
    }

    static func answers(_ port: UInt16) -> Bool {
        let file = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(file) }
        var address = loopback(port: port)
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(file, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }

    private static func loopback(port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr = in_addr(s_addr: UInt32(0x7F00_0001).bigEndian)
        return address
    }
}
