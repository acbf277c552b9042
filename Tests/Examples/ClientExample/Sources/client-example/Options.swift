import Foundation
import PortcullisClient

/// The command line: `client-example GATE [--OPTION VALUE]… [request METHOD URL [BODY]]`, in any order.
struct Options {
    var gate = ""
    var team = "ABCDE12345", bundle = "com.example.app"
    var developmentToken: String?
    var authority: String?
    var pins: [String] = []
    var dialect = SessionDialect.typed
    var admission = Admission.accessToken
    var request: (method: String, url: String, body: String?)?

    struct Problem: Error { let description: String }

    init(_ arguments: [String]) throws {
        var rest = arguments[...]
        func value(of option: String) throws -> String {
            guard let value = rest.popFirst() else { throw Problem(description: "\(option) needs a value") }
            return value
        }
        while let word = rest.popFirst() {
            switch word {
            case "--team": team = try value(of: word)
            case "--bundle": bundle = try value(of: word)
            case "--dev-token": developmentToken = try value(of: word)
            case "--ca": authority = try value(of: word)
            case "--pin": pins.append(try value(of: word))
            case "--dialect":
                dialect = SessionDialect(rawValue: try value(of: word)) ?? .typed
            case "--admission":
                switch try value(of: word) {
                case "assertion": admission = .assertion
                case "token": admission = .accessToken
                case "none": admission = .none
                case let ticket: admission = .ticket(ticket)
                }
            case "request": request = (try value(of: word), try value(of: "URL"), rest.popFirst())
            default:
                guard gate.isEmpty else { throw Problem(description: "what is \(word)?") }
                gate = word
            }
        }
        guard !gate.isEmpty else { throw Problem(description: "usage: client-example https://GATE [options]") }
    }

    var configuration: GateConfiguration {
        get throws {
            try GateConfiguration(
                baseURLString: gate, teamIdentifier: team, bundleIdentifier: bundle, developmentToken: developmentToken,
                logLevel: .info)
        }
    }

    var trust: ServerTrust {
        get throws {
            let pem = try authority.map { try String(contentsOfFile: $0, encoding: .utf8) } ?? ""
            let base64 = pem.split(separator: "\n").filter { !$0.hasPrefix("-----") }.joined()
            let certificates = base64.isEmpty ? [] : [Data(base64Encoded: base64)].compactMap { $0 }
            return ServerTrust(pins: try pins.map { try ServerPin($0) }, authorities: certificates)
        }
    }
}
