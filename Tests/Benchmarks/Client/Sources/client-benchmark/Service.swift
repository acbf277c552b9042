import Foundation

/// The service behind the gateway, in a process of its own: `flood N` has it send that many bytes, and `ticks` numbered
/// lines without end. A thread for each connection.
struct Service {
    private static let chunk = 65_536
    private static let pause = 0.005

    private let socket: Socket
    private let port: UInt16

    init() throws {
        socket = try Socket.listening(on: 0)
        port = try socket.port
    }

    func run() throws -> Never {
        print("the service listens on \(port)")
        fflush(nil)
        while true {
            let connection = try socket.accept()
            Thread.detachNewThread {
                Self.serve(connection)
                connection.close()
            }
        }
    }

    private static func serve(_ connection: Socket) {
        var line: [UInt8] = []
        while let bytes = connection.read() {
            for byte in bytes {
                guard byte == 0x0A || byte == 0x0D else {
                    line.append(byte)
                    continue
                }
                guard obey(String(decoding: line, as: UTF8.self), connection) else { return }
                line = []
            }
        }
    }

    /// - Returns: false if the connection is lost.
    private static func obey(_ command: String, _ connection: Socket) -> Bool {
        if command == "ticks" { return sendTicks(connection) }
        guard command.hasPrefix("flood "), let count = Int(command.dropFirst(6)) else { return true }
        let text = Texts.flood(count)
        return stride(from: 0, to: count, by: chunk).allSatisfy { start in
            connection.write(text[start..<min(start + chunk, count)])
        }
    }

    private static func sendTicks(_ connection: Socket) -> Bool {
        var number = 1
        while connection.write(Texts.tick(number)[...]) {
            number += 1
            Thread.sleep(forTimeInterval: pause)
        }
        return false
    }
}
