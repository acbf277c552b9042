import Foundation
import PortcullisClient

/// The command line that `scripts/bench-client` makes: `service`, or names and values.
struct Options {
    var isService = false
    var gatePort: UInt16 = 0
    /// Where the connections that are cut go in: the origin that the gateway knows.
    var front: UInt16 = 0
    var authority = ""
    var ticket = ""
    var rounds = 5
    var cuts = 100
    var minutes = 2.0

    var gate: String { "https://localhost:\(gatePort)" }

    init(_ arguments: [String]) throws {
        if arguments == ["service"] {
            isService = true
            return
        }
        var rest = arguments[...]
        while let name = rest.popFirst() {
            guard let value = rest.popFirst() else { throw Failure("\(name) needs a value") }
            switch name {
            case "--gate": gatePort = try Self.number(value, name)
            case "--front": front = try Self.number(value, name)
            case "--ca": authority = value
            case "--ticket": ticket = value
            case "--rounds": rounds = Int(try Self.number(value, name))
            case "--cuts": cuts = Int(try Self.number(value, name))
            case "--minutes": minutes = Double(try Self.number(value, name))
            default: throw Failure("unknown argument \(name)")
            }
        }
    }

    private static func number(_ text: String, _ name: String) throws -> UInt16 {
        guard let number = UInt16(text), number > 0 else { throw Failure("\(name) takes a number") }
        return number
    }

    /// The development token is in the environment.
    func configuration(_ gate: String) throws -> GateConfiguration {
        try GateConfiguration(
            baseURLString: gate, teamIdentifier: "ABCDE12345", bundleIdentifier: "com.example.mud", logLevel: .off)
    }

    var trust: ServerTrust {
        get throws {
            let pem = try String(contentsOfFile: authority, encoding: .utf8)
            let base64 = pem.split(separator: "\n").filter { !$0.hasPrefix("-----") }.joined()
            guard let certificate = Data(base64Encoded: base64) else {
                throw Failure("\(authority) has no certificate")
            }
            return ServerTrust(authorities: [certificate])
        }
    }
}
