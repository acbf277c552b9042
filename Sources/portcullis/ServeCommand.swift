import ArgumentParser
import FoundationEssentials
import GatewayServer
import Settings

struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve", abstract: "Serve until SIGTERM or SIGINT.")

    @OptionGroup var settings: SettingsOptions

    func run() async throws {
        let loaded = try Console.load(settings)
        do throws(GatewayError) {
            let gateway = try Gateway(
                loaded, from: Console.source(settings), logger: loaded.configuration.makeLogger())
            await Console.exitingOnError { try await gateway.runUntilSignalled() }
            // Reactor threads are detached and may hold connections past the deadline: the process ends here.
            Console.exit(0)
        } catch {
            throw Console.failure("\(error)")
        }
    }
}
