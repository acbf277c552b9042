import AppAttest
import ArgumentParser
import DeviceSimulation
import Reactors

/// The number of clients and their behaviour.
struct LoadOptions: ParsableArguments {
    @Option(help: "The clients' behaviour.")
    var scenario = Scenario.echo

    @Option(help: "How many clients there are.")
    var clients = 100

    @Option(help: "How long is measured, in seconds, once all have tried to connect.")
    var seconds = 10.0

    @Option(help: "How long the clients have been at it before the measurement begins, in seconds.")
    var warmUp = 0.0

    @Option(help: "First connections a second, in the scenario connect all; 0 is as fast as they come.")
    var connectRate = 200.0

    @Option(help: "Concurrent upgrades.")
    var connecting = 128

    @Option(help: "Messages a second and client.")
    var rate = 1.0

    @Option(help: "Bytes of a message.")
    var size = 64

    @Option(help: "Messages in flight, for flood and slow.")
    var window = 1

    @Flag(help: "Send a window's messages together, when all of the last ones have been answered.")
    var burst = false

    @Option(help: "Reactors of this tool.")
    var threads = 1

    @Option(help: "How the clients speak; typed sessions are resumed.")
    var dialect: LoadDialect?

    @Option(
        help:
            "The transport: websocket; frames, which is cheaper and puts the messages of a turn in one TLS record; or stream, without WebSocket."
    )
    var transport = LoadTransport.websocket

    @Option(help: "The target's behaviour: echo, numbered or screens, as for portcullis-sim echo.")
    var answers = ClientStream.Answer.echo

    @Option(help: "The target that typed clients ask for: host:port, or a route's name.")
    var target = "127.0.0.1:4000"

    @Option(help: "Local addresses in 127.0.0.0/8 that the clients come from; 0 leaves it to the system.")
    var sources = 250

    @Option(help: "The number of the first one: so that two crowds have none in common.")
    var firstSource = 0

    @Option(help: "The mean time until a flapping client vanishes, in seconds.")
    var flapEvery = 10.0

    @Option(help: "The mean time that it stays away, in seconds.")
    var flapAway = 2.0

    @Option(help: "How long a slow reader reads nothing at a time, in seconds.")
    var readPause = 0.5

    @Option(help: "The gateway's OUTPUT_BUFFER_BYTES: a gap is right if it is what that implies.")
    var outputBuffer = 51_200

    @Flag(help: "Sessions may end by the target or the gateway: that is counted, and the client begins anew.")
    var sessionsEnd = false

    @Option(help: "The URL of the gateway's internal listener, ADMIN_BIND, for --scenario proof and signed.")
    var admin: String?

    @Option(
        help: "For --scenario signed: 1 signs the body, which is sent; 2 its digest, without it. It has --size bytes.")
    var recipe = 2

    @Option(help: "The seed of all random choices and of the bytes.")
    var seed: UInt64 = 1

    func validate() throws {
        guard (1...1_000_000).contains(clients), seconds > 0, warmUp >= 0, connectRate >= 0,
            (1...100_000).contains(connecting),
            (0.001...100_000).contains(rate), (1...1_000_000).contains(size), (1...100_000).contains(window),
            (1...256).contains(threads), (1...2).contains(recipe), flapEvery > 0, flapAway > 0, readPause > 0,
            (1_024...16_777_216).contains(outputBuffer)
        else { throw ValidationError("a number is out of range.") }
        let staysRaw = (dialect ?? .raw) == .raw && scenario.usesWebSockets && ![.connect, .flap].contains(scenario)
        guard transport != .stream || staysRaw else {
            throw ValidationError("--transport stream is for raw clients that stay: echo, flood, mud, idle and slow.")
        }
        guard (0...SourceAddresses.maximumCount).contains(sources),
            (0...SourceAddresses.maximumCount - sources).contains(firstSource)
        else {
            throw ValidationError("--sources and --first-source take 0 to \(SourceAddresses.maximumCount) together.")
        }
        guard answers != .screens || scenario == .mud || scenario == .flap else {
            throw ValidationError("--answers screens needs lines: --scenario mud or flap.")
        }
        guard answers != .numbered || scenario != .flood && scenario != .slow else {
            throw ValidationError("--answers numbered answers nothing: flood and slow need an echo.")
        }
    }

    /// - Parameter usesTokens: see ``LoadIdentityOptions``.
    func settings(edge: EdgeClientSettings, usesTokens: Bool) throws -> LoadSettings {
        let dialect = dialect ?? (scenario == .flap ? .typed : .raw)
        var edge = edge
        edge.subprotocols = dialect == .raw ? ["binary"] : []
        // A source in 127.0.0.0/8 can reach only IPv4.
        if sources > 0, edge.host == "localhost" { edge.address = "127.0.0.1" }
        return LoadSettings(
            scenario: scenario, dialect: dialect, transport: transport, answer: answers, edge: edge,
            sources: SourceAddresses(count: sources, first: firstSource), clients: clients,
            connectRate: connectRate > 0 ? connectRate : nil, maximumConnecting: connecting, warmUpSeconds: warmUp,
            seconds: seconds,
            rate: rate, messageBytes: size, window: window, isBurst: burst, target: typedTarget, flapEvery: flapEvery,
            flapAway: flapAway, readPause: readPause, outputBufferBytes: outputBuffer, sessionsEnd: sessionsEnd,
            usesTokens: usesTokens || [.token, .proof, .passkey, .refresh].contains(scenario),
            authorizer: try authorizer(),
            recipe: recipe, seed: seed)
    }

    private func authorizer() throws -> EdgeClientSettings? {
        guard scenario == .proof || scenario == .signed else { return nil }
        guard let url = admin.flatMap(WebURL.init) else {
            throw SimOutput.failure(
                "--scenario \(scenario.rawValue) needs --admin, a URL like http://127.0.0.1:6201.")
        }
        return url.settings
    }

    private var typedTarget: TypedRequest.Target {
        guard let colon = target.lastIndex(of: ":"), let port = Int(target[target.index(after: colon)...]) else {
            return .route(target)
        }
        return .address(host: String(target[..<colon]), port: port)
    }
}

/// The clients' credentials: a device, new devices, a certificate or none.
struct LoadIdentityOptions: ParsableArguments {
    @Option(help: "A registered device's file: all clients connect by its key, one upgrade at a time.")
    var device: String?

    @Option(help: "The authority's file: register --devices new devices, and connect by them.")
    var authority: String?

    @Option(help: "How many; 0 is one for each four clients.")
    var devices = 0

    @Flag(help: "Devices get access tokens, and clients connect by them.")
    var token = false

    @Option(help: "Apple developer team of new devices.")
    var team = "ABCDE12345"

    @Option(help: "Their bundle identifier.")
    var bundle = "com.example.mud"

    @Option(help: "A client certificate (PEM).")
    var certificate: String?

    @Option(help: "The certificate's private key (PEM).")
    var key: String?

    func validate() throws {
        guard (certificate == nil) == (key == nil) else {
            throw ValidationError("--certificate and --key go together.")
        }
        guard device == nil || authority == nil else { throw ValidationError("--device or --authority, not both.") }
        guard !token || device != nil || authority != nil else {
            throw ValidationError("--token needs --device or --authority.")
        }
        guard devices >= 0 else { throw ValidationError("--devices takes no negative number.") }
    }

    func credentials(clients: Int) throws -> LoadCredentials {
        if let device { return try .device(at: device) }
        guard let authority else { return .none }
        guard let app = AppID(teamID: team, bundleID: bundle) else {
            throw SimOutput.failure("--team takes 10 capital letters and digits, --bundle an app's identifier.")
        }
        return try .newDevices(devices > 0 ? devices : (clients + 3) / 4, app: app, authority: authority)
    }
}

extension ClientStream.Answer: ExpressibleByArgument {}
