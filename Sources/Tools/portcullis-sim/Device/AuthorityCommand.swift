import ArgumentParser
import DeviceSimulation
import Foundation

struct AuthorityCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "authority",
        abstract:
            "Make a root that replaces Apple's, for demonstrations. The holder of its file can register with a gateway that trusts it."
    )

    @Option(help: "Where the authority is kept, private keys included; an existing one is kept.")
    var authority: String

    @Option(help: "Where to write its root certificate (PEM), for APPATTEST_ROOT_CA_PATH.")
    var root: String

    func run() throws {
        let made: SimulatedAuthority
        if let kept = try StateFile.read(SimulatedAuthority.Saved.self, authority) {
            made = try SimulatedAuthority(restoring: kept)
        } else {
            made = try SimulatedAuthority(at: .now)
            try StateFile.write(made.saved, authority)
        }
        try Data(made.rootPEM.utf8).write(to: URL(fileURLWithPath: root))
        SimOutput.say("portcullis-sim: the root of \(authority) is in \(root)")
    }
}

/// Small JSON files with private keys: readable only by their owner from the first byte on, and replaced atomically.
enum StateFile {
    static func read<State: Decodable>(_ type: State.Type, _ path: String) throws -> State? {
        guard FileManager.default.fileExists(atPath: path) else { return nil }
        return try JSONDecoder().decode(type, from: Data(contentsOf: URL(fileURLWithPath: path)))
    }

    /// The file of `portcullis-sim authority`, which must exist.
    static func authority(_ path: String) throws -> SimulatedAuthority {
        guard let saved = try read(SimulatedAuthority.Saved.self, path) else {
            throw SimOutput.failure("\(path) is not there.", hint: "make it with portcullis-sim authority.")
        }
        return try SimulatedAuthority(restoring: saved)
    }

    static func write(_ state: some Encodable, _ path: String) throws {
        let staging = path + ".new"
        let data = try JSONEncoder().encode(state)
        guard FileManager.default.createFile(atPath: staging, contents: data, attributes: [.posixPermissions: 0o600]),
            rename(staging, path) == 0
        else { throw SimOutput.failure("\(path) can't be written.") }
    }
}
