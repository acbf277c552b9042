import ArgumentParser
import GatewayServer
import Settings

struct CertificateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "certificate", abstract: "Show what clients pin of the server's certificate.",
        subcommands: [CertificatePinsCommand.self])
}

struct CertificatePinsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pins", abstract: "Print the pins of the certificate in use and of the next one.",
        discussion: """
            A pin is the SHA-256 of the public key (SPKI) in base64. Give clients both before the certificate is replaced. The next one is \
            that of --next, else of NEXT_CERT_PATH.
            """)

    @OptionGroup var settings: SettingsOptions

    @Option(help: "The PEM file of the next certificate.")
    var next: String?

    func run() throws {
        let tls = try Console.load(settings).configuration.tls
        guard let tls else { throw Console.failure("INBOUND_TLS_MODE is off: there is no certificate") }
        var keys = tls.keys
        if let next {
            guard let key = GatewayConfiguration.CertificateKeys.key(inFile: next) else {
                throw Console.failure("\(next) holds no certificate that can be read")
            }
            keys.next = key
        }
        let pins = CertificatePins(keys)
        if let inUse = pins.inUse { Console.say("in use  \(inUse)") }
        Console.say(pins.next.map { "next    \($0)" } ?? "next    none: name its file with --next or NEXT_CERT_PATH")
    }
}
