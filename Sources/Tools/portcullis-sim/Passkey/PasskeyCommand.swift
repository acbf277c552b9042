import ArgumentParser
import DeviceSimulation
import Foundation

struct PasskeyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "passkey",
        abstract: "Simulates an authenticator and the browser in front of it, for any WebAuthn server.",
        discussion: """
            Standard input has the server's options, as parseCreationOptionsFromJSON() and parseRequestOptionsFromJSON() read them; \
            standard output has the credential, as its toJSON() returns it.
            """,
        subcommands: [Make.self, Get.self])

    struct Options: ParsableArguments {
        @Option(help: "The file of the passkey, its private key included.")
        var passkey: String

        @Option(help: "The page's origin, for instance https://mud.example.com.")
        var origin: String

        @Flag(help: "The authenticator doesn't verify its user.")
        var unverified = false

        /// - Parameter id: of the relying party; nil: the host of the page.
        func request(_ id: String?, _ challenge: String) throws -> PasskeyRequest {
            guard let host = id ?? URL(string: origin)?.host() else {
                throw SimOutput.failure("--origin is no origin.")
            }
            return PasskeyRequest(rpID: host, origin: origin, challenge: try PasskeyJSON.bytes(challenge))
        }

        func authenticate(_ passkey: inout SimulatedPasskey) {
            if unverified { passkey.flags &= ~SimulatedPasskey.userVerified }
        }
    }

    struct Make: ParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Make a passkey, as navigator.credentials.create().")

        @OptionGroup var options: Options

        @Option(help: "A COSE algorithm; by default the server's first that the authenticator knows.")
        var algorithm: Int64?

        @Option(help: "Of the attestation: \(Format.allCases.map(\.rawValue).joined(separator: ", ")).")
        var format = Format.none

        @Option(help: "Where to write the root certificate of the vendor (PEM), for the format packed.")
        var root: String?

        func run() throws {
            let asked = try PasskeyJSON.read(PasskeyJSON.CreationOptions.self)
            let offered = asked.pubKeyCredParams.map(\.alg)
            guard let algorithm = algorithm ?? offered.first(where: Self.known.contains), offered.contains(algorithm)
            else { throw SimOutput.failure("the server offers the algorithms \(offered).") }
            if let kept = try StateFile.read(KeptPasskey.self, options.passkey),
                (asked.excludeCredentials ?? []).contains(where: { $0.id == kept.id })
            {
                throw SimOutput.failure("the account has the passkey in \(options.passkey) already.")
            }
            guard let key = try? SimulatedPasskeyKey(algorithm: algorithm) else {
                throw SimOutput.failure("the authenticator doesn't know the algorithm \(algorithm).")
            }
            var passkey = SimulatedPasskey(key, countsSignatures: true)
            options.authenticate(&passkey)
            let vendor = try SimulatedVendor(at: .now)
            let made = try passkey.registration(
                options.request(asked.rp.id, asked.challenge), format.simulated, by: vendor, at: .now)
            let kept = KeptPasskey(
                passkey: passkey.saved, id: PasskeyJSON.text(passkey.credentialID), user: asked.user.id)
            try StateFile.write(kept, options.passkey)
            if let root { try Data(vendor.rootPEM.utf8).write(to: URL(fileURLWithPath: root)) }
            var response = PasskeyJSON.Response(clientDataJSON: PasskeyJSON.text(made.clientDataJSON))
            response.attestationObject = PasskeyJSON.text(made.attestationObject)
            response.transports = ["internal"]
            try PasskeyJSON.write(PasskeyJSON.Credential(id: kept.id, response: response))
        }

        private static let known: [Int64] = [-7, -8, -35, -257]
    }

    struct Get: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Sign with a passkey, as navigator.credentials.get().")

        @OptionGroup var options: Options

        func run() throws {
            let asked = try PasskeyJSON.read(PasskeyJSON.RequestOptions.self)
            guard var kept = try StateFile.read(KeptPasskey.self, options.passkey) else {
                throw SimOutput.failure(
                    "\(options.passkey) is not there.", hint: "make it with portcullis-sim passkey make.")
            }
            let allowed = asked.allowCredentials ?? []
            guard allowed.isEmpty || allowed.contains(where: { $0.id == kept.id }) else {
                throw SimOutput.failure("the server doesn't ask for the passkey in \(options.passkey).")
            }
            var passkey = try SimulatedPasskey(restoring: kept.passkey)
            let signer = passkey
            options.authenticate(&passkey)
            let made = try passkey.authentication(options.request(asked.rpId, asked.challenge))
            passkey.flags = signer.flags
            kept.passkey = passkey.saved
            try StateFile.write(kept, options.passkey)
            var response = PasskeyJSON.Response(clientDataJSON: PasskeyJSON.text(made.clientDataJSON))
            response.authenticatorData = PasskeyJSON.text(made.authenticatorData)
            response.signature = PasskeyJSON.text(made.signature)
            response.userHandle = kept.user
            try PasskeyJSON.write(PasskeyJSON.Credential(id: kept.id, response: response))
        }
    }

    enum Format: String, CaseIterable, ExpressibleByArgument {
        case none, selfSigned = "self", packed

        var simulated: SimulatedPasskey.Format {
            switch self {
            case .none: .none
            case .selfSigned: .packedSelf
            case .packed: .packed
            }
        }
    }
}

/// A passkey in its file.
private struct KeptPasskey: Codable {
    var passkey: SimulatedPasskey.Saved
    /// Of the credential, base64url, as the user's handle is.
    let id: String
    let user: String
}
