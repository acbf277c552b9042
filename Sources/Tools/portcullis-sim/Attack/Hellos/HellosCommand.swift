import ArgumentParser
import Foundation

struct HellosCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "hellos",
        abstract: "Check recorded ClientHellos, and make a variant of each that needs a HelloRetryRequest.",
        discussion: """
            Reads all files NAME.hello of a folder, each a client's first record. Beside each that brings key shares it writes NAME.retry, the
            same without them: a server answers it with a HelloRetryRequest, and NAME.hello is the reply. scripts/attack sends both.
            """)

    @Argument(help: "The folder.")
    var folder: String

    func run() throws {
        let files = try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasSuffix(".hello") }
        var (groups, signatures, retries) = (Set<UInt16>(), Set<UInt16>(), 0)
        for file in files.sorted() {
            let path = "\(folder)/\(file)"
            let hello: ClientHello
            do {
                hello = try ClientHello(record: Array(try Data(contentsOf: URL(fileURLWithPath: path))))
            } catch {
                throw SimOutput.failure("\(path) holds no ClientHello.")
            }
            groups.formUnion(hello.groups)
            signatures.formUnion(hello.signatures)
            guard !hello.sharedGroups.isEmpty else { continue }
            let retry = path.dropLast(".hello".count) + ".retry"
            try Data(hello.withoutKeyShares.record).write(to: URL(fileURLWithPath: String(retry)))
            retries += 1
        }
        guard !files.isEmpty else { throw SimOutput.failure("\(folder) has no files NAME.hello.") }
        SimOutput.say(
            "\(files.count) hellos with \(groups.count) groups and \(signatures.count) signature algorithms, \(retries) of them with key shares"
        )
    }
}
