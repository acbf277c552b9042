package struct SignedRequestSection: SettingSection {
    package static let title = "Signed requests"
    package static let neededPart: SettingPart? = .appAttest

    package let isOn = LiveSetting<SignedRequestSwitch>.choice(
        "SIGNED_REQUESTS", default: .off,
        "Whether apps may sign each request with App Attest; with `off` the paths of the next setting answer 404.",
        details: """
            Devices register at `POST /register`. Their signatures admit WebSockets (`admit=signed`), and requests of HTTP services if \
            AUTHZ_ADMIT names them. It needs App Attest. In a fleet whose gateways have restricted rights devices can unregister only with the rights that \
            config/postgresql-roles.sql names.
            """)
    package let prefix = LiveSetting<String?>.text(
        "SIGNED_REQUESTS_PREFIX", default: nil, "a path",
        "What stands before `/challenge`, `/register`, `/unregister` and `/devices`.",
        details: "For example /push; unset, nothing does.", SettingGrammar.pathPrefix)
    package let window = LiveSetting<Int>.integer(
        "ASSERTION_WINDOW", default: 32, 0...64, "counters",
        "How far below the highest counter of a key another one may be and still be used, once; `0` lets only higher ones pass.",
        details: """
            Apps send several requests at a time, which arrive out of order. The window is for signed requests; WebSockets always need a higher \
            counter. With SIGNED_REQUESTS=off there is none.
            """)
}

/// SIGNED_REQUESTS
package enum SignedRequestSwitch: String, CaseIterable, Sendable {
    case off, on
}
