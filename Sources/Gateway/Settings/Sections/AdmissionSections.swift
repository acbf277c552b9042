import Admission
package import AppAttest
package import Observability

package struct GateSection: SettingSection {
    package static let title = "Admission"

    package let appAuth = LiveSetting<AppAuthMode>.choice(
        "REQUIRE_APP_AUTH", default: .required,
        "Whether a client without credentials is refused; with `false` it is admitted as anonymous, with `report` until `REPORT_UNTIL`.",
        details: """
            Danger: with `false` anybody who reaches the port reaches the service behind it. Clients with wrong credentials are refused all \
            the same. With `report` clients whose app authentication is missing or wrong are admitted as anonymous too, and the audit log \
            says what each would have been refused for (outcome `reported`). It is for the time between a release of the app and the day \
            from which it is required.
            """)
    package let reportUntil = LiveSetting<Timestamp?>.text(
        "REPORT_UNTIL", default: nil, "a date or time in UTC",
        "When `REQUIRE_APP_AUTH=report` ends; it needs this setting.",
        details: """
            For example 2026-12-24 or 2026-12-24T18:00Z, at most 90 days ahead. From then on the running gateway does as with `true`, and \
            closes the sessions of clients that it had only reported. With a date in the past the mode has ended, and the \
            gateway warns.
            """, SettingGrammar.time)
    package let authMode = LiveSetting<AuthMode>.choice(
        "AUTH_MODE", default: .none,
        "Whether every client has to present a shared secret besides its other credentials.",
        details: """
            The secret is sent in the header `Authorization: Bearer <secret>`. It doesn't replace the other credentials: an app still has to \
            attest itself. With REQUIRE_APP_AUTH=false the secret is enough. \
            Access tokens can't be used then: they are in the same header.
            """)
    package let sharedSecretsPath = LiveSetting<String?>.path(
        "SHARED_SECRETS_PATH", "a file", "The secrets of `AUTH_MODE=shared-secret`, one `name sha256:<hex>` a line.",
        details: """
            At most 64; `#` begins a comment. The name of the secret that a client used is written to the audit log, so give each client, or \
            group of clients, its own. Make one with
              openssl rand -hex 32 | tr -d '\\n' | tee secret.txt | sha256sum
            Danger: a secret is hashed once, so a guessable one can be found from this file. Use at least 32 random characters.
            """)
    package let blockListPath = LiveSetting<String?>.path(
        "BLOCK_LIST_PATH", "a file", "Addresses, keys, certificates and accounts that are never admitted, one a line.",
        details: """
            Lines are `address 203.0.113.0/24`, `key <key id in base64>`, `certificate <SHA-256 in hex>` or `account <id>`, at most 100,000; \
            `#` begins a comment.
            """)
    package let allowedOrigins = LiveSetting<[String]>.text(
        "ALLOWED_ORIGINS", default: [], "origins, comma-separated",
        "Origins of web pages that may connect besides the gateway's own.",
        details: """
            For example https://play.example.org,https://staging.example.org:8443. Write them as browsers send them: lower case, no path, no \
            slash at the end. Clients that send no Origin (apps) aren't affected.
            Danger: a browser sends its client certificate for every page listed here.
            """, SettingGrammar.origins)
    package let allowsMissingOrigin = LiveSetting<Bool>.boolean(
        "ALLOW_MISSING_ORIGIN", default: true, "Whether clients that send no `Origin`, as apps do, may connect.",
        details: "Browsers always send one. `false` is for a gateway that serves web pages only.")
}

package struct AttestationSection: SettingSection {
    package static let title = "App Attest"
    package static let part: SettingPart? = .appAttest

    package let teamID = LiveSetting<String?>.text(
        "APPATTEST_TEAM_ID", default: nil, "ten of A–Z and 0–9",
        "The Apple developer team of the apps in `APPATTEST_BUNDLE_ID`.",
        details: """
            The two settings go together. If no app is set here or in APPATTEST_APP_IDS, App Attest is off and /attest/… is answered 404.
            """, SettingGrammar.teamID)
    package let bundleIDs = LiveSetting<[String]>.text(
        "APPATTEST_BUNDLE_ID", default: [], "bundle identifiers, comma-separated",
        "The apps of that team that may register.",
        details: "For example com.example.app,com.example.app.beta. They must match exactly.", SettingGrammar.bundleIDs)
    package let appIDs = LiveSetting<[AppID]>.text(
        "APPATTEST_APP_IDS", default: [], "`TEAMID.bundle.id`, comma-separated", "Further apps, each with its team.",
        details: "For example AAAAAAAAAA.com.example.app,BBBBBBBBBB.org.example.other", SettingGrammar.appIDs)
    package let environment = LiveSetting<AppAttestEnvironment>.choice(
        "APPATTEST_ENVIRONMENT", default: .production,
        "The environments in which keys may have been attested; `development` includes Apple's sandbox.",
        details: """
            `development` is the environment of builds that are run from Xcode.
            Danger: with `development` or `any` a developer's own build passes, modified or not.
            """)
    package let rootPath = LiveSetting<String?>.path(
        "APPATTEST_ROOT_CA_PATH", "a PEM file with one certificate", "A trust root instead of Apple's.",
        details: """
            For tests with simulated devices. Keys that were registered under another root are unknown.
            Danger: the holder of its key can register any device. It needs the next setting, causes a warning at every start and is shown by \
            /health.
            """)
    package let allowsCustomRoot = LiveSetting<Bool>.boolean(
        "APPATTEST_ALLOW_CUSTOM_ROOT", default: false, "Allows `APPATTEST_ROOT_CA_PATH`.")
    package let validationCategories = LiveSetting<Set<UInt32>?>.text(
        "APPATTEST_VALIDATION_CATEGORIES", default: nil, "numbers, comma-separated",
        "The validation categories that attestations and assertions must carry; unset, they aren't checked.",
        details: """
            Devices with iOS 27 or later state in attestations and assertions how the app was distributed. If this is set, devices that \
            don't state it are refused.
            """, SettingGrammar.categories)
}

package struct ClientAuthoritySection: SettingSection {
    package static let title = "Client certificates"
    package static let part: SettingPart? = .clientTLS

    package let authorityPath = LiveSetting<String?>.path(
        "MTLS_CLIENT_CA_PATH", "a PEM file", "Authorities whose client certificates admit debug clients.",
        details: """
            Debug clients are simulators, for example. Only these authorities are trusted, never the system's. It needs TLS.
            Danger: a client certificate admits everybody who has its key, on any device.
            """)
    package let revocationListPath = LiveSetting<String?>.path(
        "MTLS_CLIENT_CRL_PATH", "a PEM file", "Revocation lists of those authorities.",
        details: """
            One list for each authority.
            Danger: while a list is expired every client certificate is refused. The gateway warns a week before.
            """)
}

package struct KeyStoreSection: SettingSection {
    package static let title = "Registered keys"

    package let path = StartSetting<String>.text(
        "ATTESTED_KEYS_PATH", default: "config/attested-keys.sqlite", written: "config/attested-keys.sqlite", "a file",
        "The database of registered keys; created with mode 0600 if it is missing.",
        details: """
            It is an SQLite file. Its folder has to exist. A relative path, such as the default, begins at the working directory. It also has \
            the next tickets of sessions, so that players come back after a restart: for them it is used without App Attest, too, if it is set.
            Danger: if it is lost, every device has to register again, and revocations are forgotten. Back it up.
            """, SettingGrammar.requiredPath)
    package let url = StartSetting<StoreURL?>.text(
        "STORE_URL", default: nil, "`postgresql://USER@HOST:PORT/DATABASE`",
        "The PostgreSQL database (15 or later) of a fleet of gateways, instead of ATTESTED_KEYS_PATH.",
        details: """
            All gateways with the same database act as one gate, and the commands `keys`, `dev-tokens`, `signing-keys` and `store` work on it. \
            For example postgresql://portcullis@db.example.org/portcullis. Several hosts, of which one can be written, are separated by commas. \
            `portcullis store migrate` makes the tables; without them the gateway doesn't start. A Unix socket is written as \
            postgresql:///portcullis?host=/run/postgresql. Beyond this machine the server's certificate is verified (sslmode=verify-full) with \
            the authorities of the system, or of `sslrootcert`. localhost is a name, whose address may change: write 127.0.0.1. It has no \
            password: see the next setting, or use `passfile`.
            Danger: whoever can write to the database decides who is admitted. Give each role only its rights (config/postgresql-roles.sql).
            """, SettingGrammar.storeURL)
    package let passwordPath = StartSetting<String?>.path(
        "STORE_PASSWORD_PATH", "a file", "The password of `STORE_URL`, in one line.",
        details: "Only the service's group may read it: `root:portcullis` 0640.")
    package let secretsKeyPath = StartSetting<String?>.path(
        "STORE_SECRETS_KEY_PATH", "a file",
        "The keys that secrets in the database of `STORE_URL` are encrypted with; every gateway has the same file.",
        details: """
            64 hexadecimal digits a line, from `openssl rand -hex 32`, at most 8; `root:portcullis` 0640. The first one encrypts, all decrypt: to replace a key, \
            put the new one behind the old one on every gateway, then in front of it, and remove the old one when all secrets were written again.
            Danger: without it nobody can sign tokens with the keys in the database. Back it up, but never together with the database.
            """)
    package let allowsUnverifiedTLS = StartSetting<Bool>.boolean(
        "ALLOW_INSECURE_STORE_TLS", default: false,
        "Allows an `sslmode` in `STORE_URL` that doesn't verify the server, although it isn't on this machine.",
        details: "Danger: whoever is between gateway and database can read and change what is stored."
    )
    package let timeoutMilliseconds = StartSetting<Int>.integer(
        "STORE_TIMEOUT_MS", default: 2_000, 50...10_000, "ms",
        "How long a statement waits for the database of `STORE_URL`; after that the answer is 503.")
}

package struct TicketSection: SettingSection {
    package static let title = "Tickets and the web client"

    package let lifetimeSeconds = StartSetting<Int>.integer(
        "TICKET_TTL_SECONDS", default: 30, 1...3600, "s", "How long a ticket from `POST /ticket` can be used.",
        details: """
            A ticket admits one upgrade, with the identity of the client that asked for it. Browsers use it: they can't set headers, but they \
            can put a ticket into a URL.
            """)
    package let controlSocketPath = StartSetting<String?>.path(
        "CONTROL_SOCKET_PATH", "a file",
        "The Unix socket (mode 0600) of the operator's commands; if unset, there is none.",
        details: """
            At most 107 bytes; its folder has to exist. `portcullis ticket`, `reload`, `upgrade`, `sessions` and `top` need it. `keys revoke` and \
            `erase`, `dev-tokens revoke` and `signing-keys revoke` work without it: with it they also wait until this gateway has noticed, and say \
            so if it doesn't. Each gateway has a socket of its own; the others of a fleet hear of such changes from the database. If it is set, \
            tickets count as a method of admission.
            Danger: everybody who can open it can admit anybody, and have the gateway run another program.
            """)
    package let servesWebClient = LiveSetting<Bool>.boolean(
        "ENABLE_WEB_CLIENT", default: false, "Whether `GET /` serves the web client.",
        details: """
            It is one static page, and needs tickets: from CONTROL_SOCKET_PATH, or from an app that asks for one with `POST /ticket`. With \
            ATTESTED_KEYS_PATH or STORE_URL its players come back after a restart of the gateway.
            """)
    package let webClientTitle = LiveSetting<String?>.text(
        "WEB_CLIENT_TITLE", default: nil, "a text of at most \(WebClientTexts.titleBytes) bytes",
        "The game's name, which the web client shows; unset, it is `Portcullis`.", details: "Plain text, not HTML.",
        WebClientTexts.title)
    package let webClientNoTicket = LiveSetting<String?>.text(
        "WEB_CLIENT_NO_TICKET", default: nil, "a text of at most \(WebClientTexts.noTicketBytes) bytes",
        "What the web client tells a visitor who has no ticket that admits, such as where to get one.",
        details: "Plain text in one line, not HTML. Addresses in it that begin with https:// or http:// become links.",
        WebClientTexts.noTicket)
    package let publicOrigin = StartSetting<String?>.text(
        "PUBLIC_ORIGIN", default: nil, "an origin",
        "The origin under which clients reach the gateway: for proofs of access tokens, and for what `portcullis ticket` prints.",
        details: """
            For example https://play.example.org. The proofs of access tokens must be for URLs with this origin, and it is their issuer. Unset, \
            proofs must be for a name of the server's certificate with WS_PORT, to which their request was sent; the printed address is made of \
            BIND_HOST and WS_PORT, and instead of 0.0.0.0 and :: it has the first DNS name of the certificate, or the machine's name. Set it if \
            clients use another name or port, if the certificate has wildcards, and in a fleet. If TLS ends before the gateway there are no \
            access tokens without it.
            """, SettingGrammar.webOrigin)
}

package struct LimitSection: SettingSection {
    package static let title = "Limits of the gate"

    package let requestsPerSecond = LiveSetting<Int?>.limit(
        "REQUESTS_PER_SECOND_PER_ADDRESS", default: RequestLimits.defaultRequestsPerSecond, "a second",
        "Requests and upgrades of one address (IPv6: one /64), counted over four seconds; `0` is no limit.",
        details: """
            All kinds of requests count: challenges, registrations, tickets, upgrades, /health, unknown paths. With 50 a second, 200 may come \
            at once. Above it the answer is 429 and the connection is closed; after 20 such answers in four seconds it is closed without one. \
            Behind a proxy that TRUSTED_PROXY_CIDRS doesn't name all clients share it.
            """)
    package let challengeLifetimeSeconds = StartSetting<Int>.integer(
        "CHALLENGE_TTL_SECONDS", default: 60, 5...600, "s", "How long a challenge can be used.",
        details: "The device calls Apple in that time.")
    package let challengesPerMinute = LiveSetting<Int>.integer(
        "CHALLENGES_PER_MINUTE", default: 600, 1...1_000_000, "a minute",
        "Challenges for one address (IPv6: one /64), and as many requests for access tokens; a tenth as many registrations.",
        details: """
            Many clients may share one IPv4 address behind a carrier's NAT. With DPOP_NONCE a client without a nonce takes two requests for \
            each token.
            """)
    package let failedUpgradesPerMinute = LiveSetting<Int>.integer(
        "FAILED_UPGRADES_PER_MINUTE", default: 10, 1...1_000_000, "a minute",
        "Failed upgrades, and failed signed requests on `/authz`, of one address before further ones are answered 429.",
        details: "Above it valid credentials still pass: each second as many are verified as the double of this number."
    )
    package let maximumLimiterEntries = StartSetting<Int>.integer(
        "MAX_LIMITER_ENTRIES", default: 65_536, 16...10_000_000, "addresses",
        "Addresses that each limiter counts separately; further ones share one allowance.")
}
