import AppAttest
import ArgumentParser
import DeviceSimulation
import Reactors

/// How a device gets its access tokens.
struct TokenOptions: ParsableArguments {
    @Option(help: "The authority's file: the device registers if the gateway demands it.")
    var authority: String?

    @Option(parsing: .unconditional, help: "A development token, instead of App Attest.")
    var devToken: String?

    @Option(help: "Apple developer team of a new device; by default ABCDE12345.")
    var team: String?

    @Option(help: "Bundle identifier of a new device; by default com.example.mud.")
    var bundle: String?

    var areGiven: Bool { [authority, devToken, team, bundle].contains { $0 != nil } }

    func validate() throws {
        guard authority == nil || devToken == nil else {
            throw ValidationError("--authority or --dev-token, not both.")
        }
    }

    /// - Parameter path: the device's file. A new device is saved there, because a development token may be bound to
    ///   its key.
    func client(
        device path: String, _ gateway: DeviceCommand.GatewayOptions, on reactor: Reactor
    ) throws -> TokenClient {
        let file = try DeviceFile.keptOrNew(
            at: path, team: team ?? "ABCDE12345", bundle: bundle ?? "com.example.mud")
        // Files of earlier versions get their device key here.
        try file.save()
        let evidence: TokenIssuerClient.Evidence =
            if let devToken { .developmentToken(devToken) } else {
                .appAttest(authority: try authority.map(StateFile.authority))
            }
        let http = try gateway.requests(on: reactor)
        let issuer = TokenIssuerClient(try gateway.url(), http: http, evidence: evidence, file: file)
        return TokenClient(issuer, http: http)
    }
}
