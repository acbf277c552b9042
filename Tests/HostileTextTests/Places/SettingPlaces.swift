import FoundationEssentials
import Observability
import Telnet

@testable import GatewayServer
@testable import OperatorTools
@testable import Settings

/// Operators' settings, tables of the kernel, and the tools' messages over the control socket.
let settingPlaces = places {
    controls
    text("a setting file") { use(SettingFile($0)) }
    text("a setting's name in a file") { use(SettingFile($0 + "=a")) }
    text("a setting's value in a file") { use(SettingFile("A=" + $0)) }
    text("a setting's quoted value in a file") { use(SettingFile("A='\($0)'\nB=\"\($0)\"")) }
    text("a comment in a file") { use(SettingFile("A=b #" + $0 + "\n#" + $0)) }
    prepared("many settings in a file") { text in
        let piece = String(text.unicodeScalars.prefix(10))
        let lines = (0..<text.utf8.count / 30).map { "A\($0)=\(piece)" }.joined(separator: "\n")
        return { use(SettingFile(lines)) }
    }
    text("a mistyped setting") { text in
        use(SettingSuggestion.nearest(to: text, among: []))
        use(SettingSuggestion.isOurs(text))
        use(SettingSuggestion.distance(text, "MTLS_CLIENT_CA_PATH"))
    }
    loaded("TN_HOST")
    loaded("TN_PORT")
    loaded("TN_ENCODING")
    loaded("MUD_ROUTES")
    loaded("TARGET_ALLOWLIST")
    loaded("TARGET_PORTS")
    loaded("ALLOWED_ORIGINS")
    loaded("TRUSTED_PROXY_CIDRS")
    loaded("TRUSTED_PROXY_HEADER")
    loaded("PUBLIC_ORIGIN")
    loaded("BIND_HOST")
    loaded("APPATTEST_TEAM_ID")
    loaded("APPATTEST_BUNDLE_ID")
    loaded("STORE_URL")
    loaded("ATTESTED_KEYS_PATH")
    loaded("REQUIRE_APP_AUTH")
    loaded("LOG_LEVEL")
    loaded("DEFAULT_DIALECT")
    loaded("ADMIN_BIND")
    loaded("MUD_TLS_PIN")
    loaded("AUTHZ_ADMIT")
    loaded("DPOP_NONCE")
    loaded("WEB_CLIENT_TITLE")
    loaded("WEB_CLIENT_NO_TICKET")
    loaded("NO_SUCH_SETTING")
    grammar("an integer") { use(try? SettingGrammar.integer($0, in: 1...65_535)) }
    grammar("a boolean") { use(try? SettingGrammar.boolean($0)) }
    grammar("a time") { text in
        use(Timestamp(text))
        use(Timestamp("2026-12-24T18:00:00." + text))
    }
    grammar("a path setting") { use(try? SettingGrammar.requiredPath($0)) }
    grammar("bundle identifiers") { use(try? SettingGrammar.bundleIDs($0)) }
    grammar("app identifiers") { use(try? SettingGrammar.appIDs($0)) }
    grammar("categories") { use(try? SettingGrammar.categories($0)) }
    grammar("a list") { use(try? SettingGrammar.list($0)) }
    grammar("origins") { use(try? SettingGrammar.origins($0)) }
    grammar("an origin's port") { use(try? SettingGrammar.origins("https://a:" + $0)) }
    grammar("an audience") { use(try? SettingGrammar.audience($0)) }
    grammar("a host setting") { use(try? SettingGrammar.host($0)) }
    grammar("addresses") { use(try? SettingGrammar.addresses($0)) }
    grammar("pins") { use(try? SettingGrammar.pins($0)) }
    grammar("the encoding setting") { use(try? SettingGrammar.encoding($0)) }
    grammar("a database's URL") { use(try? SettingGrammar.storeURL($0)) }
    grammar("a database's host and parameters", bytes: 4_000) { text in
        use(try? SettingGrammar.storeURL("postgresql://\(text)/a"))
        use(try? SettingGrammar.storeURL("postgresql://a/a?\(text)"))
    }
    bytes("the kernel's sockets") { bytes in
        var table = KernelSocketTable()
        table.feed(bytes[...])
        table.finish()
    }
    text("a subject in the tool's table") { text in
        use(SessionText.plain(text))
        use(SessionText.shortened(text, 24))
        use(TextColumns.text([["A", "B"], [SessionText.plain(text), "b "], ["c", "d"]]))
    }
}

/// A setting's text, which the loader has found short enough.
private func grammar(_ name: String, bytes: Int = 65_536, _ read: @escaping @Sendable (String) -> Void) -> HostilePlace
{
    text(name, bytes: bytes) { text in
        if SettingText.isShort(text) { read(text) }
    }
}

/// One setting in the environment of a gateway.
private func loaded(_ name: String) -> HostilePlace {
    text("the setting \(name)") { text in
        var environment = [
            "TN_HOST": "mud.example.org", "TN_PORT": "4000", "INBOUND_TLS_MODE": "off", "REQUIRE_APP_AUTH": "false",
        ]
        environment[name] = text
        do throws(ConfigurationErrors) {
            use(try ConfigurationLoading.load(environment: environment, environmentFile: nil, now: Date()))
        } catch {
            use("\(error)")
        }
    }
}

private func control(_ name: String, _ line: String) -> HostilePlace {
    json("\(name) of a tool's request", bytes: ControlLine.maximumBytes - 128, texts: HostileText.ascii, in: line) {
        use(ControlLine.decode(ControlRequest.self, $0))
    }
}

private let controls = places {
    control("a member", #"{"$":{}}"#)
    control("a key", #"{"hasNoticedRevocation":{"_0":"$"}}"#)
    control("a program", #"{"upgrade":{"program":"$"}}"#)
    control("a subject", #"{"inspect":{"_0":{"close":{"_0":{"matching":{"_0":{"subject":"$"}}},"reason":"$"}}}}"#)
    bytes("a tool's request of hostile bytes") { use(ControlLine.decode(ControlRequest.self, $0)) }
}
